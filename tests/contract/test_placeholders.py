"""`{name}` and `${NAME}`: what is known is filled, every other brace stays."""

from __future__ import annotations

import time

import pytest

from lakelogic_assets.contract.filled_in import is_secret, is_withheld
from lakelogic_assets.contract.placeholders import expand, fill, is_path, is_sql, rewritten, unfilled

VALUES = {"domain": "sales", "catalog": "lake", "number": 5}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{catalog}.{domain}.orders", "lake.sales.orders"),
        ("`{catalog}`.x", "`lake`.x"),
        (r"^\d{4}-[A-Z]{2}$", r"^\d{4}-[A-Z]{2}$"),
        ("{unknown}/{domain}", "{unknown}/sales"),
        ("{{secrets/scope/key}}", "{{secrets/scope/key}}"),
        ("{{domain}}", "{{domain}}"),
        ("${domain}", "${domain}"),
        ("{number}", "5"),
        ("{ domain }", "{ domain }"),
        ("", ""),
    ],
)
def test_only_known_names_are_filled(text: str, filled: str) -> None:
    assert fill(text, VALUES) == filled


def test_what_is_not_filled_can_be_listed() -> None:
    assert unfilled(r"{a}/\d{4}/{{b}}/${c}/{d}") == ["a", "d"]


def test_a_text_cannot_grow_without_end() -> None:
    bomb = "{a}" * 600
    assert fill(bomb, {"a": "x" * 1000}) == bomb
    assert fill("{a}", {"a": "x" * 100_000}) == "{a}"


@pytest.mark.parametrize(
    ("text", "expanded", "missing"),
    [
        ("${A}", "a", []),
        ("x${A}y${A}z", "xayaz", []),
        ("${B}", "", ["B"]),
        ("${B:-b}", "b", []),
        ("${B:-}", "", []),
        ("${A:-b}", "a", []),
        ("${EMPTY:-b}", "b", []),
        ("${B:-${A}}", "a", []),
        ("${B:-${C:-${A}/c}}/d", "a/c/d", []),
        ("${B:-${C}}", "", ["C"]),
        ("${B:-{catalog}}", "{catalog}", []),
        ("${ENV:TOKEN}", "${ENV:TOKEN}", []),
        ("$A {A} ${} ${5}", "$A {A} ${} ${5}", []),
        ("${B ${A}", "${B a", []),
        ("${LAKELOGIC_PII_KEY}", "", ["LAKELOGIC_PII_KEY"]),
        ("${LAKELOGIC_PII_KEY:-x}", "", ["LAKELOGIC_PII_KEY"]),
    ],
)
def test_variables_are_expanded_with_their_defaults(text: str, expanded: str, missing: list[str]) -> None:
    environ = {"A": "a", "EMPTY": "", "LAKELOGIC_PII_KEY": "secret"}
    reported: list[str] = []
    assert expand(text, environ, reported.append) == expanded
    assert reported == missing


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *((name, True) for name in (
            "LAKELOGIC_PII_KEY", "LAKELOGIC_PII_KEYS", "LAKELOGIC_PII_KEY_AB12", "LAKELOGIC_PII_SALT", "DB_PASSWORD",
            "DB_PASS", "PGPASS", "OPENAI_APIKEY", "SENTRY_DSN", "AIRFLOW_CONN_X", "BASIC_AUTH", "JWT",
            "STORAGE_CONNECTION_STRING", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "azure_client_secret", "STORAGE_KEY", "MY_SAS", "SLACK_WEBHOOK_URL",
            "ROOT_PW", "DATA_PW2", "LAKELOGIC_VAULT_PIN", "MAIL_DOMAIN_PIN", "STORAGE_ACCESS",
        )),
        *((name, False) for name in (
            "LAKELOGIC_VAR_LAKE", "HOME", "PWD", "COMPASS_CATALOG", "AUTHORS_PATH", "CATALOG", "RIDEFLOW_DEV_STORAGE_ACCOUNT", "MONKEY", "TURKEY_CATALOG",
            "SHIPPING_ROOT", "PINEAPPLE_PATH", "WEB_ACCESS_LOGS_PATH",
        )),
    ],
)  # fmt: skip
def test_a_secret_is_known_by_its_name(name: str, *, secret: bool) -> None:
    assert is_secret(name) is secret


@pytest.mark.parametrize(
    ("name", "value", "withheld"),
    [
        *((name, "x", True) for name in ("DATABASE_URL", "REDIS_URL", "ANY_OTHER", "MYSQL", "X")),
        *((name, "x", False) for name in (
            "LAKELOGIC_VAR_ANY", "LAKELOGIC_OBSERVATORY_ENDPOINT", "HOME", "PWD", "RIDEFLOW_DEV_CATALOG", "OWNER",
            "RIDEFLOW_DEV_STORAGE_ACCOUNT", "DOMAIN_CONTACT_MARKETPLACE", "SHOP_LANDING", "LAKE_HOME", "REGION",
        )),
        *(("DATA_PATH", value, True) for value in (
            "postgres://app:hunter2@db/shop", "redis://:hunter2@cache", "jdbc:oracle:thin:@db", "AccountKey=abc;x=y",
            "https://store.example.com/x?sig=abc", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", "-----BEGIN PRIVATE KEY-----",
            "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "0123456789abcdef0123456789abcdef",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "k3j9x1c7z5q2w8e4r6t0y9u7i5o3p1", "https://x1y2z3@git.example.com/x",
            "https://f.example.com/api?code=0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef\n",
        )),
        *(("DATA_PATH", value, False) for value in (
            "/srv/lake", "abfss://lake@rideflowdevaccount.dfs.core.windows.net/raw", "s3a://bucket/data",
            "data.owners@example.com", "LakehouseProduction2026WestEurope", "a_long_name_of_a_table_of_2026_and_more",
            "abfss://6f0fd2a1-3c4b-4d5e-8f90-a1b2c3d4e5f6@onelake.dfs.fabric.microsoft.com/x", "/var/data/pytest-of-me/test_a_file0",
            "st8f3k2j9x1c7z5rideflow1", "/var/folders/5r/8z0_9x2n1s30h8y2kqk6w3x40000gn/T/lake", "/mnt/0123456789abcdef0123456789abcdef/",
            "s3a://data-a1b2c3d4e5f6a7b8c9d0e1f2/x", "/data/LakehouseProduction2026WestEuropeAndNorth",
        )),
        ("LAKELOGIC_VAR_X", "0123456789abcdef0123456789abcdef", False),
        ("UNSET_AND_UNKNOWN", "", False),
    ],
)  # fmt: skip
def test_a_value_is_filled_in_where_name_and_value_are_no_secret(name: str, value: str, *, withheld: bool) -> None:
    assert is_withheld(name, {name: value}) is withheld


def test_a_secret_stays_the_reference_that_it_is() -> None:
    environ = {"DB_PASSWORD": "hunter2", "A": "a"}
    reported: list[str] = []
    text = expand("${A} ${DB_PASSWORD} ${B:-${DB_PASSWORD:-x}}", environ, reported.append, kept=is_secret)
    assert text == "a ${DB_PASSWORD} ${DB_PASSWORD:-x}"
    assert reported == []


@pytest.mark.parametrize("text", ["${A:-" * 20_000 + "}" * 20_000, "${A" * 100_000, "}" * 100_000, "${" * 100_000])
def test_a_hostile_text_is_expanded_quickly(text: str) -> None:
    started = time.process_time()
    assert isinstance(expand(text, {}, lambda name: None), str)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("source", "path"), True),
        (("links", 0, "table"), True),
        (("materialization", "target_path"), True),
        (("environments", "local", "catalog"), True),
        (("quarantine", "target"), True),
        (("source", "post_ingestion", "archive_path"), True),
        (("quarantine", "notifications", 0, "target"), False),
        (("notifications", 0, "target"), False),
        (("source", "dlt", "endpoints", 0, "path"), False),
        (("transformations", 0, "json_extract", "path"), False),
        (("metadata", "location"), False),
        (("external_logic", "args", "path"), False),
        ((), False),
    ],
)
def test_a_path_says_where_data_is(path: tuple[str | int, ...], *, expected: bool) -> None:
    assert is_path(path) is expected


def test_sql_is_known_by_its_key() -> None:
    assert is_sql(("transformations", 0, "derive", "sql"))
    assert is_sql(("transformations", 0, "rollup", "aggregations", "total"))
    assert not is_sql(("source", "path"))


def test_what_does_not_change_is_shared_and_never_changed_in_place() -> None:
    data = {"a": ["x", {"b": "{domain}"}], "c": ["y"], "d": 5}
    new = rewritten(data, lambda text, path: fill(text, VALUES))
    assert new == {"a": ["x", {"b": "sales"}], "c": ["y"], "d": 5}
    assert new["c"] is data["c"]
    assert data["a"] == ["x", {"b": "{domain}"}]
    assert rewritten(new, lambda text, path: fill(text, VALUES)) is new


def test_a_change_knows_where_it_is() -> None:
    seen: list[tuple[str | int, ...]] = []
    rewritten({"a": [{"b": "{x}"}], "c": "{y}"}, lambda text, path: seen.append(path) or text)
    assert seen == [("a", 0, "b"), ("c",)]
