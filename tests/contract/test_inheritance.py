"""Which file a value comes from."""

from __future__ import annotations

from pathlib import Path

from lakelogic_assets.contract.inheritance import Merged, Origin, under_system
from lakelogic_assets.contract.reading import Document, read_text


def document(name: str, text: str) -> Document:
    return read_text(text, Path(name))


def place(merged: Merged, *path: str | int) -> str:
    location = merged.locate(path)
    return f"{location.file}:{location.line}"


DOMAIN = document(
    "_domain.yaml",
    "domain: sales\nquarantine:\n  format: delta\n  write_mode: append\nnotifications:\n  - {target: a}\n  - {target: b}\n",
)
SYSTEM = document("_system.yaml", "system: till\nquarantine:\n  format: parquet\nnotifications:\n  - {target: c}\n")


def test_mappings_are_merged_and_the_nearer_file_wins() -> None:
    merged, disagreed = under_system(SYSTEM, DOMAIN)
    assert merged.data["quarantine"] == {"format": "parquet", "write_mode": "append"}
    assert place(merged, "quarantine", "format") == "_system.yaml:3"
    assert place(merged, "quarantine", "write_mode") == "_domain.yaml:4"
    assert disagreed == []


def test_lists_are_joined_and_every_item_knows_its_file() -> None:
    merged, _ = under_system(SYSTEM, DOMAIN)
    assert [each["target"] for each in merged.data["notifications"]] == ["c", "a", "b"]
    assert [place(merged, "notifications", index, "target") for index in range(3)] == [
        "_system.yaml:5",
        "_domain.yaml:6",
        "_domain.yaml:7",
    ]


def test_files_are_never_changed_by_merging() -> None:
    under_system(SYSTEM, DOMAIN)
    assert SYSTEM.data["quarantine"] == {"format": "parquet"}
    assert len(SYSTEM.data["notifications"]) == 1
    assert len(DOMAIN.data["notifications"]) == 2


def test_a_system_without_a_domain_is_itself() -> None:
    merged, disagreed = under_system(SYSTEM, None)
    assert merged.data == SYSTEM.data
    assert disagreed == []


def test_a_mapping_against_a_list_leaves_the_systems_value() -> None:
    merged, _ = under_system(document("s", "notifications: {enabled: true}\n"), DOMAIN)
    assert merged.data["notifications"] == {"enabled": True}


def test_the_currency_is_the_domains() -> None:
    domain = document("d", "cost: {currency: EUR, rate: 1}\n")
    merged, _ = under_system(document("s", "cost: {currency: USD, rate: 2}\n"), domain)
    assert merged.data["cost"] == {"currency": "EUR", "rate": 2}
    assert under_system(document("s", "system: x\n"), domain)[0].data["cost"] == {"currency": "EUR", "rate": 1}


def test_locked_keys_are_the_domains_and_a_disagreement_is_told() -> None:
    domain = document("d", "domain: sales\nsilver_layer: clean\ngold_layer:\n")
    merged, disagreed = under_system(document("s", "domain: trade\nsilver_layer: clean\ngold_layer: mart\n"), domain)
    assert (merged.data["domain"], merged.data["silver_layer"], merged.data["gold_layer"]) == ("sales", "clean", "mart")
    assert disagreed == [("domain",)]


def test_an_empty_key_of_the_domain_is_no_disagreement() -> None:
    _, disagreed = under_system(document("s", "bronze_layer: raw\n"), document("d", "bronze_layer:\n"))
    assert disagreed == []


def test_filling_leaves_what_is_said() -> None:
    merged = Merged(document("c", "lineage: {enabled: false}\ncompliance: {a: {x: 1}}\nserver: text\n"))
    source = document(
        "s", "lineage: {enabled: true, capture_domain: false}\ncompliance: {a: {x: 2, y: 2}}\nserver: {mode: ingest}\n"
    )
    merged.fill(("lineage",), source.data["lineage"], source, ("lineage",))
    merged.fill(("compliance",), source.data["compliance"], source, ("compliance",), deep=True)
    merged.fill(("server",), source.data["server"], source, ("server",), deep=True)
    assert merged.data["lineage"] == {"enabled": False, "capture_domain": False}
    assert merged.data["compliance"] == {"a": {"x": 1, "y": 2}}
    assert merged.data["server"] == "text"
    assert merged.document.data["lineage"] == {"enabled": False}


def test_what_is_said_in_one_spelling_is_not_inherited_in_another() -> None:
    domain = document(
        "d", "quarantine: {mode: append, format: delta}\nmaterialization: {silver: {primary_key: [a], format: delta}}\n"
    )
    system = document("s", "quarantine: {write_mode: overwrite}\nmaterialization: {silver: {merge_keys: [b]}}\n")
    registry, _ = under_system(system, domain)
    assert registry.data["quarantine"] == {"write_mode": "overwrite", "format": "delta"}
    assert registry.data["materialization"]["silver"] == {"merge_keys": ["b"], "format": "delta"}
    merged = Merged(document("c", "quarantine: {mode: append}\nmaterialization: {primary_key: [c]}\n"))
    merged.fill(("quarantine",), registry.data["quarantine"], registry, ("quarantine",))
    silver = registry.data["materialization"]["silver"]
    merged.fill(("materialization",), silver, registry, ("materialization", "silver"))
    assert merged.data["quarantine"] == {"mode": "append", "format": "delta"}
    assert merged.data["materialization"] == {"primary_key": ["c"], "format": "delta"}


def test_without_depth_only_whole_keys_are_filled() -> None:
    merged = Merged(document("c", "metadata: {a: {x: 1}}\n"))
    source = document("s", "metadata: {a: {y: 2}, b: 3}\n")
    merged.fill(("metadata",), source.data["metadata"], source, ("metadata",))
    assert merged.data["metadata"] == {"a": {"x": 1}, "b": 3}


def test_inside_an_inherited_block_every_part_keeps_its_own_file() -> None:
    system = document("_system.yaml", "compliance:\n  frameworks:\n    sox: true\n")
    domain = document("_domain.yaml", "compliance:\n  frameworks:\n    gdpr: true\n")
    registry, _ = under_system(system, domain)
    merged = Merged(document("c.yaml", "version: 1.0.0\n"))
    merged.fill(("compliance",), registry.data["compliance"], registry, ("compliance",), deep=True)
    assert place(merged, "compliance", "frameworks", "sox") == "_system.yaml:3"
    assert place(merged, "compliance", "frameworks", "gdpr") == "_domain.yaml:3"


def test_only_values_that_are_there_count_as_inherited() -> None:
    merged = Merged(document("c.yaml", "a: 1\n"))
    merged.put(("b", "c"), 2, Origin(SYSTEM, ("system",)))
    merged.origins["depends_on",] = Origin(SYSTEM, ("contracts",))
    assert [path for path, _ in merged.inherited()] == [("b", "c")]
