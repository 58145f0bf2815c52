from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.fingerprint import fingerprint
from lakelogic_assets.contract.loading import load_project
from lakelogic_assets.contract.overrides import (
    Override,
    overridden,
    overridden_contract,
    override,
    parse_override,
    parse_overrides,
)
from lakelogic_assets.contract.registry import Registry
from lakelogic_assets.errors import ContractError
from lakelogic_assets.project import Project

DOMAIN = "domain: shop\nquarantine: {write_mode: append}\n"
SYSTEM = """\
domain: shop
system: pos
storage: {landing_root: "{storage_root}/landing/pos"}
environments: {local: {storage_root: .lakehouse, catalog: lake}, prod: {storage_root: "s3a://bucket/lake", catalog: lake}}
contracts:
  - {path: bronze_orders.yaml, layer: bronze, entity: orders}
  - {path: silver_orders.yaml, layer: silver, entity: orders}
"""
BRONZE = """\
version: 1.0.0
info: {title: Orders, table_name: bronze_orders}
source:
  type: landing
  path: "{landing_root}/orders"
  format: csv
  load_mode: full
  options: {header: true, url: kept}
model: {fields: [{name: order_id, type: string}, {name: at, type: timestamp}]}
service_levels: {freshness: 6h, row_count: {min_rows: 1, max_rows: 9}}
"""
SILVER = """\
version: 1.0.0
info: {title: Orders, table_name: silver_orders}
source: {type: table, path: "table:lake.shop.bronze_orders", load_mode: full}
links:
  - {name: rates, path: rates.csv, type: csv}
  - {name: codes, path: codes.csv, type: csv}
model: {fields: [{name: order_id, type: string}]}
"""
HERE = "contracts/shop/pos"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    files = {
        "contracts/shop/_domain.yaml": DOMAIN,
        f"{HERE}/_system.yaml": SYSTEM,
        f"{HERE}/bronze_orders.yaml": BRONZE,
        f"{HERE}/silver_orders.yaml": SILVER,
        f"{HERE}/rates.csv": "a\n1\n",
        f"{HERE}/codes.csv": "a\n1\n",
        "data/other.csv": "a\n1\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "data" / "away").symlink_to("/etc")
    return Project(tmp_path)


@pytest.fixture
def registry(project: Project) -> Registry:
    return load_project(project, {})


def one(registry: Registry, project: Project, *texts: str, table: str = "bronze_orders") -> Contract:
    return overridden_contract(registry, ("shop", table), parse_overrides(texts), project)


def codes(error: pytest.ExceptionInfo[ContractError]) -> list[str]:
    return [problem.code for problem in error.value.problems]


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("source.path=data/x", ("source", "path"), "data/x"),
        ("source.path = data/x ", ("source", "path"), "data/x"),
        ("source.path=a=b", ("source", "path"), "a=b"),
        ("source.pattern=*.csv", ("source", "pattern"), "*.csv"),
        ("source.options.header=on", ("source", "options", "header"), "on"),
        ("source.options.header=yes", ("source", "options", "header"), "yes"),
        ("source.options.header=true", ("source", "options", "header"), True),
        ("source.options.comment='#'", ("source", "options", "comment"), "#"),
        ("source.options.comment=#", ("source", "options", "comment"), "#"),
        ('source.options.sep="\\t"', ("source", "options", "sep"), "\t"),
        ("source.from_date=2026-02-03", ("source", "from_date"), "2026-02-03"),
        ("source.partition_filters={region: [eu, us]}", ("source", "partition_filters"), {"region": ["eu", "us"]}),
        ("source.lookback=null", ("source", "lookback"), None),
        ("source.path={landing_root}/x", ("source", "path"), "{landing_root}/x"),
        ("links[0].path=x", ("links", 0, "path"), "x"),
        ("links[rates].path=x", ("links", "rates", "path"), "x"),
        ("links.rates.path=x", ("links", "rates", "path"), "x"),
        ("metadata.ticket=010", ("metadata", "ticket"), "010"),
        ('metadata."a.b"=1', ("metadata", "a.b"), 1),
        ("extensions.com.lakelogic.timeout=5m", ("extensions", "com.lakelogic.timeout"), "5m"),
        (
            "extensions.com.lakelogic.upstream_freshness.rates=6h",
            ("extensions", "com.lakelogic.upstream_freshness", "rates"),
            "6h",
        ),
    ],
)
def test_a_key_and_a_value_are_read_as_in_a_contract(text: str, path: tuple[Any, ...], value: Any) -> None:
    made = parse_override(text)
    assert (made.path, made.value) == (path, value)


def test_an_override_wins_over_the_contract_and_changes_nothing_else(registry: Registry, project: Project) -> None:
    before = registry.find("bronze_orders")
    contract = one(registry, project, "source.load_mode=incremental", "source.options.header=false")
    assert contract.source
    assert contract.source.load_mode == "incremental"
    assert contract.source.options == {"header": False, "url": "kept"}
    assert before.source
    assert contract.source.path == before.source.path == ".lakehouse/landing/pos/orders"
    assert before.source.load_mode == "full"
    assert before.source.options == {"header": True, "url": "kept"}


def test_a_mapping_sets_its_keys_and_keeps_the_others(registry: Registry, project: Project) -> None:
    contract = one(registry, project, "service_levels={row_count: {min_rows: 2}, freshness: {threshold: 12h}}")
    levels = contract.service_levels
    assert levels.row_count
    assert (levels.row_count.min_rows, levels.row_count.max_rows) == (2, 9)
    assert levels.freshness_seconds == 12 * 3600


def test_of_two_for_one_key_the_last_counts(registry: Registry, project: Project) -> None:
    contract = one(registry, project, "source.load_mode=cdc", "source.load_mode=incremental")
    assert contract.source
    assert contract.source.load_mode == "incremental"
    assert contract.place.overrides == {"source.load_mode": "incremental"}


def test_what_was_set_is_kept_for_the_run_log(registry: Registry, project: Project) -> None:
    contract = one(registry, project, "source.path={landing_root}/again", "metadata.ticket=T-1")
    assert contract.place.overrides == {"source.path": ".lakehouse/landing/pos/again", "metadata.ticket": "T-1"}
    assert registry.find("bronze_orders").place.overrides == {}


def test_a_mapping_says_the_same_as_a_command_line(registry: Registry, project: Project) -> None:
    typed = one(registry, project, "source.path=data/x", "service_levels.row_count.min_rows=3")
    given_ = parse_overrides({"source.path": "data/x", "service_levels.row_count.min_rows": 3})
    assert overridden_contract(registry, ("shop", "bronze_orders"), given_, project) == typed


def test_data_that_may_change_gives_another_fingerprint(registry: Registry, project: Project) -> None:
    before = fingerprint(registry.find("bronze_orders"))
    assert fingerprint(one(registry, project, "source.path=data/x")) != before
    assert fingerprint(one(registry, project, "service_levels.freshness=12h")) == before


def test_the_origin_of_a_value_is_the_option(registry: Registry, project: Project) -> None:
    made = overridden(registry, parse_overrides(["source.path=data/x"]), project, [("shop", "bronze_orders")])
    merged = made.merged["shop", "bronze_orders"]
    assert str(merged.locate(("source", "path"))) == "--set source.path"
    assert merged.locate(("source", "format")).line == 6
    assert dict(registry.merged["shop", "bronze_orders"].inherited()).keys().isdisjoint({("source", "path")})


def test_a_link_is_meant_by_number_or_by_name(registry: Registry, project: Project) -> None:
    for key in ("links[1].path", "links[codes].path", "links.codes.path"):
        contract = one(registry, project, f"{key}=data/other.csv", table="silver_orders")
        assert [link.path for link in contract.links] == ["rates.csv", "data/other.csv"]


def test_what_was_wrong_with_a_value_is_cured_by_setting_it(project: Project) -> None:
    (project.root / HERE / "rates.csv").unlink()
    registry = load_project(project, {})
    assert [problem.code for problem in registry.errors] == ["LL409"]
    overrides = parse_overrides(["links[rates].path=codes.csv"])
    assert overridden(registry, overrides, project, [("shop", "silver_orders")]).errors == ()


def test_a_variable_that_is_not_set_does_not_matter_where_the_path_is(project: Project) -> None:
    path = project.root / HERE / "bronze_orders.yaml"
    path.write_text(BRONZE.replace('"{landing_root}/orders"', '"${LAKELOGIC_VAR_NONE}/orders"'))
    registry = load_project(project, {})
    assert [problem.code for problem in registry.errors] == ["LL305"]
    made = overridden(registry, parse_overrides(["source.path=data"]), project, [("shop", "bronze_orders")])
    assert made.errors == ()


def test_a_path_of_a_selection_goes_to_the_contract_that_reads_files(registry: Registry, project: Project) -> None:
    made = overridden(registry, parse_overrides(["source.path=data/x"]), project)
    assert made.errors == ()
    sources = [contract.source.path for contract in made if contract.source]
    assert sources == ["data/x", "table:lake.shop.bronze_orders"]


def test_what_makes_sense_for_all_is_set_for_all(registry: Registry, project: Project) -> None:
    made = overridden(registry, parse_overrides(["service_levels.row_count.min_rows=4"]), project)
    assert [each.service_levels.row_count and each.service_levels.row_count.min_rows for each in made] == [4, 4]


def test_a_section_that_does_not_hold_together_is_blamed_on_the_option(registry: Registry, project: Project) -> None:
    with pytest.raises(ContractError, match=r"^--set service_levels.row_count.min_rows: error LL105: .* above"):
        one(registry, project, "service_levels.row_count.min_rows=10")


def test_part_of_a_short_form_cannot_be_set(registry: Registry, project: Project) -> None:
    with pytest.raises(ContractError, match="set it as a whole") as error:
        one(registry, project, "service_levels.freshness.field=at")
    assert codes(error) == ["LL604"]


def test_files_in_object_storage_stay_below_the_declared_roots(project: Project) -> None:
    prod = Project(project.root, "prod")
    registry = load_project(prod, {})
    key = ("shop", "bronze_orders")
    fine = parse_overrides(["source.path=s3a://bucket/lake/landing/pos/again"])
    assert overridden_contract(registry, key, fine, prod).place.overrides
    for path in (
        "s3a://bucket/lakeside/x", "s3a://bucket/lake/../x", "s3a://bucket/lake/%2e%2e/x", "s3a://other/lake/x",
        "gs://bucket/lake/x", "s3a://key:secret@bucket/lake/x",
    ):  # fmt: skip
        with pytest.raises(ContractError) as error:
            overridden_contract(registry, key, parse_overrides([f"source.path={path}"]), prod)
        assert codes(error) == ["LL603"]


HOSTILE = [
    # out of the roots
    "source.path=../secrets", "source.path=data/../../x", "source.path=/etc/passwd", "source.path=/", "source.path=~/x",
    "source.path=file:///etc/passwd", "source.path=file:/etc/passwd", "source.path=FILE:/etc", "source.path=data/away",
    "source.path=data/away/passwd", "source.path=data/a*", "source.path=data/{a,../../etc}", "source.path=data/[.][.]",
    "source.path=s3a://bucket/x", "source.path=http://127.0.0.1/x", "source.path=hdfs:/x", "source.path=C:\\x",
    "source.path=..\\x", "source.path=a\0b", "source.path=a\nb", "source.path=${HOME}/x", "source.path=$HOME",
    "source.path={storage_root}/../x", "source.path=.git/config", "source.path=.env", "source.path=.lakehouse/warehouse/x",
    "source.path=.lakehouse/landing/../warehouse/x", "source.path=table:lake.other.people", "source.path=", "source.path=[a]",
    "source.path={path: x}", "source={path: /etc}", "source.path='../x'", 'source.path="\\x2e./x"', "source.path=\x1b[31m",
    "source.pattern=/etc/*", "source.pattern=../*", "source.partition={format: ../%Y}",
    "source.partition.file_pattern=..\\*",
    # what is reviewed
    "external_logic.path=x.py", "external_logic={type: python, path: x.py}", "model.fields[0].pii=false",
    "model.fields[0].masking=null", "model={fields: []}", "quality.row_rules=[]", "quality.enforce_required=false",
    "compliance.gdpr=false", "quarantine.enabled=false", "quarantine={enabled: false}", "extraction.provider=x",
    "info.table_name=other", "info.domain=other", "info.system=other", "materialization.target_path=data/x",
    "materialization.location=/tmp/x", "materialization.strategy=overwrite", "materialization.partition_by=[a]",
    "materialization.compaction.vacuum_retention_hours=0", "materialization={strategy: overwrite}",
    "source.query=SELECT 1", "source.type=jdbc", "source.dlt.credentials.key=x", "source.post_ingestion.action=delete",
    "source.format=delta", "source.format=table", "source.format=[csv]", "source.format={a: b}", "source={format: delta, path: lake.crm.people}",
    "source.options.url=jdbc:x", "source.options.path=/etc", "source.options.sessionInitStatement=DROP TABLE x",
    "source.options.query=SELECT 1", "source.options={header: true, dbtable: x}", "source.options={}",
    "transformations=[]", "lineage.enabled=false", "notifications=[]", "schedule=@daily", "version=9",
    "metadata.run_log_table=x", "metadata.run_log_dir=/tmp", "metadata.policy_pack=x", "metadata.Run_Log_Path=x",
    "metadata={run_log_table: x}", 'metadata."quarantine_table_backend"=x', "extensions.com.lakelogic.sample=100",
    "extensions.com.lakelogic.partitions=x", 'extensions."com.lakelogic.sample"=100', "extensions.com.acme.x=1",
    "extensions={com.lakelogic.sample: 100}", "environments.local.path=/etc", "server.mode=ingest", "tier=gold",
    # what cannot be read
    "", "=", "source.path", "=x", ".path=x", "source.=x", "source..path=x", "source.path[=x", "source[]=x", "[0]=x",
    "source.path]=x", "a" * 400 + "=x", "metadata.a=" + "x" * 20_000, "metadata.a=[" * 3, "metadata.a=" + "[" * 5000,
    "metadata.a={a: 1, a: 2}", "metadata.a=!!python/object:os.system", "metadata.a='x", "metadata.a=[*b]",
    "metadata.a=[!!python/name:os.system ]", "metadata.\u2028a=x", "metadata.\ud800=x", "metadata.a=\ud800",
    "__class__.__init__=x", "source.__dict__=x", "model_config.extra=allow", "_place.overrides=x", "place.enabled=false",
    # what does not fit
    "links[0].path=x", "links[9999].path=x", "links[-1].path=x", "links.nobody.path=x", "links[0].query=SELECT 1",
    "links[0].filter=1=1", "links=[]", "links={rates: {path: x}}", "source.load_mode=ful", "source.lookback=soon",
    "service_levels.freshness=soon", "service_levels.row_count.min_rows=many", "service_levels={}=x",
    "extensions.com.lakelogic.timeout=never",
]  # fmt: skip
HARMLESS_AS_TEXT = {"metadata.a=!!python/object:os.system"}


def test_there_are_enough_hostile_overrides() -> None:
    assert len(HOSTILE) >= 100
    assert len(set(HOSTILE)) == len(HOSTILE)


@pytest.mark.parametrize("text", [text for text in HOSTILE if text not in HARMLESS_AS_TEXT])
def test_a_hostile_override_is_refused_in_one_line(registry: Registry, project: Project, text: str) -> None:
    with pytest.raises(ContractError) as error:
        one(registry, project, text)
    (problem,) = error.value.problems
    assert problem.message.endswith(".")
    assert str(problem).isprintable()
    assert len(str(problem)) < 900
    assert problem.location.option


def test_a_tag_is_text_like_any_other(registry: Registry, project: Project) -> None:
    contract = one(registry, project, *HARMLESS_AS_TEXT)
    assert contract.metadata["a"] == "!!python/object:os.system"


@pytest.mark.parametrize(
    "path", ["data", "data/*.csv", "data/new/2026", ".lakehouse/landing/pos", "{storage_root}/landing/x"]
)
def test_paths_inside_the_roots_are_fine(registry: Registry, project: Project, path: str) -> None:
    contract = one(registry, project, f"source.path={path}")
    assert contract.source
    assert contract.source.path == path.replace("{storage_root}", ".lakehouse")


def test_an_absolute_path_inside_the_project_is_fine(registry: Registry, project: Project) -> None:
    assert one(registry, project, f"source.path={project.root}/data").place.overrides


def test_a_table_cannot_be_swapped_for_another(registry: Registry, project: Project) -> None:
    with pytest.raises(ContractError, match="which the graph waits for") as error:
        one(registry, project, "source.path=data/x", table="silver_orders")
    assert codes(error) == ["LL602"]


def test_patience_is_had_with_what_a_contract_reads(registry: Registry, project: Project) -> None:
    key = "extensions.com.lakelogic.upstream_freshness"
    contract = one(registry, project, f"{key}.bronze_orders=6h", table="silver_orders")
    assert contract.extensions == {"com.lakelogic.upstream_freshness": {"bronze_orders": "6h"}}
    with pytest.raises(ContractError, match="Did you mean `bronze_orders`") as error:
        one(registry, project, f"{key}.bronze_order=6h", table="silver_orders")
    assert codes(error) == ["LL401"]


def test_a_folder_that_is_a_table_cannot_be_swapped_either(project: Project) -> None:
    path = project.root / HERE / "bronze_orders.yaml"
    path.write_text(BRONZE.replace("format: csv", "format: delta"))
    registry = load_project(project, {})
    for place in ("data/x", "lake.crm.people"):
        with pytest.raises(ContractError) as error:
            one(registry, project, f"source.path={place}")
        assert codes(error) == ["LL602"]


def test_the_path_of_an_environment_does_not_win_over_what_was_set(project: Project) -> None:
    path = project.root / HERE / "bronze_orders.yaml"
    path.write_text(BRONZE + "environments: {local: {path: data/local, format: json}, prod: {path: data/prod}}\n")
    registry = load_project(project, {})
    contract = one(registry, project, "source.path=data/again", "source.format=csv")
    assert [(each.path, each.format) for each in contract.environments.values()] == [
        ("data/again", "csv"),
        ("data/prod", None),
    ]
    assert contract.place.overrides == {"source.path": "data/again", "source.format": "csv"}


def test_several_mistakes_are_told_together() -> None:
    with pytest.raises(ContractError) as error:
        parse_overrides(["source.pth=x", "quality.row_rules=[]", "nothing"])
    assert codes(error) == ["LL101", "LL602", "LL601"]


def test_values_of_programs_are_judged_like_typed_ones() -> None:
    for key, value in (("source.options", {"url": "x"}), ("quality", {}), ("", 1), ("links", {0: {"path": "/etc"}})):
        with pytest.raises(ContractError):
            override(key, value)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60) | st.from_regex(r"(source|links|metadata|service_levels)[.\[\]a-z0-9\"]{0,20}=.{0,20}"))
def test_any_text_is_an_override_or_one_line_of_what_is_wrong(registry: Registry, project: Project, text: str) -> None:
    try:
        contract = one(registry, project, text)
    except ContractError as error:
        assert all(str(problem).isprintable() for problem in error.problems)
    else:
        assert contract.place.overrides
        path = contract.source.path if contract.source else ""
        root = os.path.realpath(project.root)
        assert os.path.commonpath([root, os.path.realpath(project.root / (path or ""))]) == root


@given(st.from_regex(r"[a-z_]{1,9}(\.[a-z_]{1,9}|\[[0-9]{1,2}\]){0,3}", fullmatch=True), st.integers() | st.booleans())
def test_a_key_that_is_understood_is_one_of_the_language(key: str, value: int) -> None:
    try:
        made = override(key, value)
    except ContractError as error:
        assert {problem.code for problem in error.problems} <= {"LL101", "LL601", "LL602", "LL603"}
    else:
        assert isinstance(made, Override)
        assert made.path[0] in {"source", "links", "materialization", "service_levels", "metadata", "extensions"}
