"""Files that are no honest YAML: bombs, tags, depths, bytes, and numbers without end."""

from __future__ import annotations

from tests.security.entries import CONTRACT, Entry, as_contract, contract, in_contract


def _laughs(levels: int, each: int = 10) -> str:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * each)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


def _merges(levels: int) -> str:
    lines = ["m0: &m0 {k0: 1}"]
    lines += [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 10)}], k{n}: 1}}" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


def _tagged(tag: str) -> str:
    return contract(metadata=f"{{note: {tag}}}")


BOMBS = (
    as_contract("a billion laughs", "LL007", _laughs(9), is_bomb=True),
    as_contract("a billion laughs in merge keys", "LL00[67]", _merges(12), is_bomb=True),
    as_contract("ten thousand brackets", "LL006", "a: " + "[" * 10_000, is_bomb=True),
    as_contract("ten thousand braces", "LL006", "a: " + "{a: " * 10_000, is_bomb=True),
    as_contract("a list that nests by its dashes", "LL006", "a:\n " + "- " * 5_000 + "x\n", is_bomb=True),
    as_contract("ten megabytes of text", "LL003", "note: " + "x" * 10_000_000, is_bomb=True),
    as_contract("a million keys", "LL003", "".join(f"k{n}: 1\n" for n in range(1_000_000)), is_bomb=True),
    as_contract("more values than anybody writes", "LL007", "a: [" + "1," * 250_000 + "1]\n", is_bomb=True),
    as_contract("an anchor that holds itself", "LL00[467]", "a: &a [*a]\n", is_bomb=True),
    as_contract("a mapping that holds itself", "LL00[467]", "a: &a {b: *a}\n", is_bomb=True),
    Entry(
        "a billion laughs in a registry", "registry", "LL007",
        files={"contracts/shop/_system.yaml": _laughs(9), CONTRACT: contract()}, is_bomb=True,
    ),
    Entry(
        "a billion laughs in resources", "resources", "LL007", files={"resources/local.yaml": _laughs(9)}, is_bomb=True
    ),
    Entry(
        "a billion laughs in a policy pack", "policy pack", "LL007",
        files={"contracts/policy_packs/big.yaml": _laughs(9), CONTRACT: contract(metadata="{policy_pack: big}")},
        is_bomb=True,
    ),
    in_contract("a pattern of a million signs", "LL112", model=(
        "{fields: [{name: order_id, type: string}]}"
    ), quality="{row_rules: [{regex_match: {field: order_id, pattern: '%s'}}]}" % ("a" * 1_000_000)),
    in_contract("placeholders that would double for ever", "no errors", code=0, metadata=(
        "{note: '%s'}" % ("{domain}" * 50_000)
    )),
    in_contract("defaults inside of defaults", "no errors", code=0, metadata=(
        "{note: '%s'}" % ("${A:-" * 5_000 + "x" + "}" * 5_000)
    )),
)  # fmt: skip

TAGS = tuple(
    as_contract(f"the tag {tag.split()[0]}", "LL0(08|04|11)", _tagged(tag))
    for tag in (
        "!!python/object/apply:os.system ['touch CANARY']",
        "!!python/object/new:os.system ['touch CANARY']",
        "!!python/name:os.system ''",
        "!!python/module:os ''",
        "!!python/tuple [1, 2]",
        "!!python/object/apply:subprocess.check_output [['touch', 'CANARY']]",
        "!!binary 'aGVsbG8='",
        "!!set {a: null}",
        "!!omap [a: 1]",
        "!include /etc/passwd",
        "!ENV ${HOME}",
        "!<tag:yaml.org,2002:java/net.URLClassLoader> [http://127.0.0.1/]",
    )
)

BYTES = (
    as_contract("bytes that are no text", "LL002", b"\xff\xfe\x00\x80" * 100),
    as_contract("UTF-16", "LL002", contract().encode("utf-16")),
    as_contract("NUL in a value", "LL00[24]", contract(metadata="{note: 'a\0b'}")),
    as_contract("half a character", "LL002", contract().encode() + b"note: \xc3"),
    as_contract("a program", "LL00[249]", b"\x7fELF\x02\x01\x01" + bytes(200)),
    as_contract("an empty file", "LL009", b"", code=1),
    as_contract("a list", "LL009", "- a\n- b\n"),
    as_contract("a second document", "LL010", contract() + "---\na: 1\n"),
    as_contract("a key twice", "LL005", contract() + "version: 2.0.0\n"),
    as_contract("a key that is a list", "LL011", contract() + "? [a, b]\n: 1\n"),
    as_contract("a quote that is never closed", "LL004", contract() + 'note: "never\n'),
    as_contract("a tab where blanks belong", "LL004", "info:\n\ttitle: x\n"),
    in_contract("an escape sequence of terminals in a key", "LL101", **{'"\\e]0;owned\\a"': "1"}),
    in_contract("an escape sequence of terminals in a value", "LL10", materialization='{strategy: "\\e[2J\\e[31m"}'),
    in_contract("a line feed in a value", "LL10", materialization='{strategy: "a\\nerror: forged"}'),
    in_contract("letters that turn the text around", "LL10", materialization='{strategy: "\\u202Eevil"}'),
    in_contract("a value of half a megabyte", "LL10", materialization="{strategy: %s}" % ("x" * 500_000)),
)

NUMBERS = (
    in_contract("an integer of a thousand digits", "LL10", source="{type: landing, path: in, format: csv, "
        "partition: {format: '%%Y', lookback_days: %s}}" % ("9" * 1_000)),
    in_contract("more days back than there are", "LL10", source=(
        "{type: landing, path: in, format: csv, partition: {format: '%Y', lookback_days: 99999999999999999999}}"
    )),
    in_contract("a float beyond all", "LL10", materialization="{strategy: append, compaction: "
        "{vacuum_retention_hours: -1e400}}"),
    in_contract("not a number", "LL10", extensions="{com.lakelogic.max_quarantine_ratio: .nan}"),
    in_contract("infinity", "LL10", extensions="{com.lakelogic.max_quarantine_ratio: .inf}"),
    in_contract("a share above one", "LL10", extensions="{com.lakelogic.max_quarantine_ratio: 1e300}"),
    in_contract("a period of ages", "LL1", source=(
        "{type: landing, path: in, format: csv, load_mode: incremental, watermark_strategy: lookback, lookback: %s days}"
        % ("9" * 400)
    )),
    in_contract("a decimal wider than any", "LL106", model="{fields: [{name: a, type: 'decimal(99999999999,2)'}]}"),
    in_contract("a decimal with a negative scale", "LL106", model="{fields: [{name: a, type: 'decimal(10,-5)'}]}"),
    in_contract("a type nested a thousand times", "LL106", model="{fields: [{name: a, type: '%s'}]}"
        % ("array<" * 1_000 + "int" + ">" * 1_000)),
    in_contract("a timeout below zero", "LL1", extensions="{com.lakelogic.timeout: -5 minutes}"),
    in_contract("a sample of a billion rows", "LL10", extensions="{com.lakelogic.sample: 1000000000}"),
    in_contract("a date that is none", "LL115", source=(
        "{type: landing, path: in, format: csv, from_date: 9999999999-01-01}"
    )),
    in_contract("a schedule without end", "LL1", schedule="{cron: '%s'}" % ("* " * 10_000)),
    in_contract("a pattern that repeats too often", "LL112", quality=(
        "{row_rules: [{regex_match: {field: order_id, pattern: 'a{99999999999}'}}]}"
    )),
    in_contract("a pattern that is never closed", "LL112", quality=(
        "{row_rules: [{regex_match: {field: order_id, pattern: '((((('}}]}"
    )),
)  # fmt: skip

ENTRIES = (*BOMBS, *TAGS, *BYTES, *NUMBERS)
