"""Names, variables, options and selections that mean more than they say."""

from __future__ import annotations

from tests.security.entries import CONTRACT, Entry, contract, in_contract, quoted

REFUSED = "LL60[1-4]"


def _set(name: str, value: str, says: str = REFUSED) -> Entry:
    return Entry(name, "--set", says, words=("run", "silver_orders", "--set", value))


SET = (
    _set("--set upward", "source.path=../outside"),
    _set("--set to an absolute path", "source.path=OUTSIDE"),
    _set("--set to a path through home", "source.path=~/secret.csv"),
    _set("--set to a path with a variable", "source.path=$HOME/secret.csv"),
    _set("--set to a path with a braced variable", "source.path=${HOME}/secret.csv"),
    _set("--set to a file address", "source.path=file:///etc/passwd"),
    _set("--set to the web", "source.path=http://169.254.169.254/latest/meta-data"),
    _set("--set to a bucket", "source.path=s3a://somebody/else"),
    _set("--set through a hidden folder", "source.path=.git/config"),
    _set("--set with a line feed", "source.path=in\nout"),
    _set("--set with NUL", "source.path=in\0"),
    _set("--set with a glob that leads out", "source.path=in/../../outside/*"),
    _set("--set with braces", "source.path={in,../outside}"),
    _set("--set of a file pattern that leads out", "source.pattern=../../outside/*.csv"),
    _set("--set of the target", "materialization.target_path=OUTSIDE/table"),
    _set("--set of the quarantine", "quarantine.location=OUTSIDE/bad"),
    _set("--set of code", "external_logic.path=evil.py"),
    _set("--set of masking", "model.fields[0].masking=null"),
    _set("--set of rules", "quality.row_rules=[]"),
    _set("--set of a query", "source.query=DROP TABLE x"),
    _set("--set of deletion", "source.post_ingestion.action=delete"),
    _set("--set of an option that loses rows", "source.options.ignoreCorruptFiles=true"),
    _set("--set of an option that names another place", "source.options.path=OUTSIDE"),
    _set("--set of the format of a table", "source.format=delta"),
    _set("--set of a key of Python's", "__class__.__init__=x", "LL101: `__class__` is not a key"),
    _set("--set of an index without end", "links[99999999].path=x"),
    _set("--set without a key", "=x"),
    Entry(
        "--set of a tag, which is text",
        "--set",
        "silver_orders full",
        code=0,
        words=("run", "silver_orders", "--dry-run", "--set", "metadata.note=!!python/name:os.system"),
    ),
    _set("--set of a value of a megabyte", "metadata.note=" + "x" * 1_000_000),
    _set("--set of a bomb", "metadata.note=" + "[" * 5_000),
)

ENVIRONMENT = (
    *(in_contract(f"a secret called {name}", rf"\$\{{{name}\}}", code=0, metadata=f"{{note: '${{{name}}}'}}").asked(
        "show", "silver_orders", **{name: value})
      for name, value in (
        ("DATABASE_URL", "MARK-db"), ("REDIS_URL", "MARK-redis"), ("MY_CONFIG", "MARK-config"), ("DB_PASS", "MARK-pass"),
        ("JWT", "MARK-jwt"), ("PGPASS", "MARK-pg"), ("OPENAI_APIKEY", "MARK-ai"), ("BASIC_AUTH", "MARK-auth"),
        ("SENTRY_DSN", "MARK-dsn"), ("AIRFLOW_CONN_X", "MARK-conn"), ("DATA_ROOT", "https://me:MARK@host"),
    )),
    in_contract("a variable that may be a secret", "LL315", code=0, metadata="{note: '${DATABASE_URL}'}").asked(
        "validate", DATABASE_URL="MARK-db"),
    in_contract("a variable that may be a secret in a path", "LL314", source=(
        "{type: landing, path: 'in/${DATABASE_URL}', format: csv}"
    )).asked("validate", DATABASE_URL="MARK-db"),
    in_contract("the key in a description", "LL309", info=(
        "{title: '${LAKELOGIC_PII_KEY}', table_name: silver_orders, target_layer: silver}"
    )),
    in_contract("an older key in a description", "LL309", metadata="{note: '${LAKELOGIC_PII_KEYS}'}"),
    in_contract("a key by its id", "LL309", metadata="{note: '${LAKELOGIC_PII_KEY_AB12}'}"),
    in_contract("the salt as a default", "LL309", metadata="{note: '${NOBODY:-${LAKELOGIC_PII_SALT}}'}"),
    in_contract("a secret in a path", "LL309", source="{type: landing, path: 'in/${AWS_SECRET_ACCESS_KEY}', format: csv}"),
    in_contract("a variable of Spark in a rule", "LL201", quality=(
        "{row_rules: [{name: r, sql: 'note = ${AWS_SECRET_ACCESS_KEY}'}]}"
    )),
    Entry(
        "a secret that stays a reference", "environment", r"\$\{AWS_SECRET_ACCESS_KEY\}", words=("show", "silver_orders"),
        files={CONTRACT: contract(metadata="{note: 'x ${AWS_SECRET_ACCESS_KEY} y'}")}, code=0,
        environ={"AWS_SECRET_ACCESS_KEY": "MARK-of-a-secret"},
    ),
    Entry("a project that is not there", "environment", "not a folder", environ={"LAKELOGIC_PROJECT_DIR": "/nowhere/at/all"}),
    Entry(
        "resources that are not there", "environment", "not a folder", environ={"LAKELOGIC_RESOURCES_DIR": "/nowhere/at/all"}
    ),
    Entry(
        "a key that is none", "environment", "not a 256-bit key", words=("decrypt", "enc:v1:00000000:AAAA", "--column", "a"),
        environ={"LAKELOGIC_PII_KEY": "short"},
    ),
)  # fmt: skip

NAMES = (
    *(
        in_contract(f"a table called {name[:20]}", "LL104", info=f"{{table_name: {quoted(name)}, target_layer: silver}}")
        for name in ("../../outside/x", "/etc/x", "a/b", "..", "a\\b", "x" * 5_000, "a\x00b", "a\nb")
    ),
    in_contract("a domain that leads out", "LL104", info=(
        "{title: T, table_name: silver_orders, target_layer: silver, domain: ../../outside}"
    )),
    in_contract("a system that leads out", "LL104", info=(
        "{title: T, table_name: silver_orders, target_layer: silver, domain: d, system: ../..}"
    )),
    in_contract("a policy pack by its path", "LL425", metadata="{policy_pack: ../../../outside/pack}"),
    Entry(
        "an index that leaves the project", "registry", "LL311",
        files={"contracts/shop/_system.yaml": "domain: d\nsystem: shop\ncontracts: [{path: ../../../outside/secret.yaml}]\n"},
    ),
    Entry(
        "an index with an absolute path", "registry", "LL311",
        files={"contracts/shop/_system.yaml": "domain: d\nsystem: shop\ncontracts: [{path: /etc/hosts}]\n"},
    ),
    Entry(
        "an index that follows a link out", "registry", "LL311",
        files={"contracts/shop/_system.yaml": "domain: d\nsystem: shop\ncontracts: [{path: away/secret.yaml}]\n"},
        links={"contracts/shop/away": "OUTSIDE"},
    ),
    Entry(
        "a driver's registry that leaves the project", "registry", "LL311",
        files={
            "contracts/shop/_registry.yaml":
                "domain: d\nsystem: s\nentries: [{entity: e, contract_path: ../../../outside/secret.yaml}]\n"
        },
    ),
    Entry("a domain that leads out in a registry", "registry", "LL104", files={
        "contracts/shop/_system.yaml": "domain: ../../x\nsystem: shop\ncontracts: [{path: silver_orders.yaml}]\n"
    }),
    Entry("a resource that holds a password", "resources", "LL104: 'hunter2!' is not", files={
        "resources/local.yaml": "name: local\nconnections: {db: {type: jdbc, password_env: 'hunter2!'}}\n"
    }),
    Entry("a resource of another name", "resources", "LL504", files={"resources/local.yaml": "name: ../../x\n"}),
    Entry("a partition set in a zone that is a path", "resources", "LL502", files={
        "partitions/days.yaml": "name: days\ncadence: daily\nstart: 2026-01-01\ntimezone: ../../../etc/passwd\n"
    }),
)  # fmt: skip


def _asked(name: str, says: str, *words: str, code: int = 1) -> Entry:
    return Entry(name, "command line", says, words=words, code=code)


ARGUMENTS = (
    _asked("a selection with SQL", "There is no contract called", "run", "x'; DROP TABLE silver_orders; --"),
    _asked("a selection with a path upward", "There is no contract called", "run", "../../../etc/passwd"),
    _asked(
        "a selection of a file that is no contract", "LL009: The file holds a single value", "validate", "/etc/hosts"
    ),
    _asked("a selection with control characters", r"Nothing is selected by '\\x1b", "run", "\x1b[2J\x07"),
    _asked("a selection with a newline", r"There is no contract called 'a\\nerror", "run", "a\nerror: forged"),
    _asked("a day that is none", "'2026-02-30' is not a day", "run", "--all", "--day", "2026-02-30"),
    _asked("a day with SQL", "OR '1'='1\" is not a day", "run", "--all", "--day", "2026-01-01' OR '1'='1"),
    _asked(
        "days that end before they begin",
        "2026-02-01 is before the first day",
        "run",
        "--all",
        "--from",
        "2026-02-02",
        "--to",
        "2026-02-01",
    ),
    _asked("a window nobody knows", "is not a window; choose one of", "run", "--all", "--window", "../../x"),
    _asked(
        "a hundred thousand years",
        "'99999-01-01' is not a day",
        "run",
        "--all",
        "--from",
        "0001-01-01",
        "--to",
        "99999-01-01",
    ),
    _asked("a timeout of ages", "is not a length of time", "run", "--all", "--timeout", "9" * 400 + " days"),
    _asked("a timeout before now", "is not a length of time", "run", "--all", "--timeout", "-5m"),
    _asked("a layer nobody knows", "Nothing is selected by \"layer:'", "run", "--layer", "'; --"),
    _asked("a command nobody knows", "There is no command 'rm -rf /'", "rm -rf /"),
    _asked("an option nobody knows", "No such option: --exec", "run", "--exec=id", code=2),
    _asked(
        "a policy pack by a path",
        "LL425: There is no policy pack",
        "run",
        "--all",
        "--policy-pack",
        "../../../outside/pack",
    ),
    _asked(
        "a folder of packs that is none",
        "There is no folder '/nowhere' with policy packs",
        "run",
        "--all",
        "--policy-pack",
        "x",
        "--policy-pack-dir",
        "/nowhere",
    ),
    _asked("a signature for nobody", "There is no contract called", "approve", "x' OR '1'='1", "--why", "a"),
    _asked(
        "a signature for a window with a path",
        "Nothing of silver_orders waits for a signature",
        "approve",
        "silver_orders",
        "--why",
        "a",
        "--window",
        "../../../outside",
    ),
    _asked(
        "a signature with a run of another kind",
        "Nothing of silver_orders waits for a signature",
        "approve",
        "silver_orders",
        "--why",
        "a",
        "--run",
        "'; DROP TABLE x; --\n",
    ),
    _asked("a run nobody knows", "There is no pipeline run", "runs", "../../../etc"),
    _asked("a run with a glob", r"There is no pipeline run '\*'", "runs", "*"),
    _asked("a code nobody knows", "There is no code", "explain-error", "../../LL001"),
    _asked(
        "a value that was never encrypted", "not a value of `masking: encrypt`", "decrypt", "'; DROP", "--column", "a"
    ),
    _asked(
        "a value with a line feed",
        "not a value of `masking: encrypt`",
        "decrypt",
        "enc:v1:00000000:AA\nAA",
        "--column",
        "a",
    ),
    _asked(
        "a value under a key that is not here",
        "which is not here",
        "decrypt",
        "enc:v1:deadbeef:AAAA",
        "--column",
        "a`; --",
    ),
    _asked("a version below zero", "greater than or equal to 0", "restore", "silver_orders", "--version", "-1", code=2),
    _asked("a moment that is none", "is not a moment", "restore", "silver_orders", "--to", "now'; --", code=2),
    _asked("a share of more than all", "is no share below 100 %", "generate", "--invalid", "900%", code=2),
    _asked("an environment with a path", "no errors", "validate", "--env", "../../x", code=0),
    _asked("a site over something else", "in holds something else than a site", "docs", "--output", "in"),
)

READERS = tuple(
    in_contract(f"the reader option {name}", "LL435", source=(
        f"{{type: landing, path: in, format: {kind}, options: {{rowTag: row, {name}: '{value}'}}}}"
    ))
    for kind, name, value in (
        ("avro", "avroSchemaUrl", "http://169.254.169.254/latest/meta-data"), ("avro", "AVROSCHEMAURL", "file:///etc/passwd"),
        ("xml", "rowValidationXSDPath", "OUTSIDE/secret.csv"), ("csv", "fs.s3a.endpoint", "http://127.0.0.1:9"),
        ("parquet", "parquet.crypto.factory.class", "java.lang.Runtime"), ("csv", "spark.sql.files.x", "1"),
        ("csv", "fs.defaultFS", "file://OUTSIDE"),
    )
)  # fmt: skip
"""Whatever stands below `options:` would be laid over the reader and Hadoop."""

ENTRIES = (*READERS, *SET, *ENVIRONMENT, *NAMES, *ARGUMENTS)
