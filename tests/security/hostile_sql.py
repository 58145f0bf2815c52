"""SQL that would write, drop, start a program, open a path or look at the machine; templates that would reach Python."""

from __future__ import annotations

from tests.security.entries import in_contract, with_rule, with_step

RULES = (
    with_rule("a statement behind the rule", "LL20[1-4]", "amount > 0; DROP TABLE silver_orders"),
    with_rule("DELETE for a rule", "LL20", "DELETE FROM silver_orders"),
    with_rule("a query for a rule", "LL20", "SELECT 1"),
    with_rule("a subquery on a file", "LL20[67]", "amount IN (SELECT value FROM text.`/etc/passwd`)"),
    with_rule("a subquery on a table nobody declared", "LL206", "amount IN (SELECT salary FROM hr.people)"),
    with_rule("reflect", "LL205", "reflect('java.lang.System', 'getenv', 'HOME') IS NOT NULL"),
    with_rule("java_method", "LL205", "java_method('java.lang.Runtime', 'getRuntime') IS NOT NULL"),
    with_rule("try_reflect", "LL205", "try_reflect('java.lang.System', 'exit', 1) IS NULL"),
    with_rule("reflect in backticks", "LL205", "`reflect`('java.lang.System', 'getenv', 'HOME') IS NOT NULL"),
    with_rule("reflect with a comment in between", "LL205", "reflect/**/('java.lang.System', 'exit') IS NULL"),
    with_rule("ReFlEcT in another case", "LL205", "ReFlEcT('java.lang.System', 'exit') IS NULL"),
    with_rule("a function of a catalogue", "LL205", "spark_catalog.default.f(amount) > 0"),
    with_rule("a function nobody knows", "LL205", "xp_cmdshell('id') IS NOT NULL"),
    with_rule("who I am", "LL205", "current_user = note"),
    with_rule("which database", "LL205", "current_database() = note"),
    with_rule("a parameter", "LL201", "amount > :limit"),
    with_rule("a variable of the session", "LL201", "amount > @@version"),
    with_rule("a text that is never closed", "LL201", "note = 'open"),
    with_rule("a comment that is never closed", "LL201", "amount > 0 /* open"),
    with_rule("brackets ten thousand deep", "LL201", "(" * 10_000 + "1" + ")" * 10_000),
    with_rule("casts inside of casts", "LL201", "CAST(" * 200 + "amount" + " AS INT)" * 200 + " > 0"),
    with_rule("an aggregate", "LL209", "sum(amount) > 0"),
    with_rule("Jinja that reaches Python", "LL20", "{{ ''.__class__.__mro__[1].__subclasses__() }} > 0"),
    with_rule("Jinja that starts a program", "LL20", "{% set x = cycler.__init__.__globals__.os.popen('id') %}1 > 0"),
    with_rule("the format of Python", "LL20", "{0.__class__.__init__.__globals__} > 0"),
    with_rule("a variable of Spark", "LL20", "note = ${env:HOME}"),
)

STEPS = (
    with_step("DROP", "LL20[1-4]", "DROP TABLE silver_orders"),
    with_step("TRUNCATE", "LL20[1-4]", "TRUNCATE TABLE silver_orders"),
    with_step("INSERT", "LL20[1-4]", "INSERT INTO silver_orders SELECT * FROM source"),
    with_step("INSERT OVERWRITE a folder", "LL20[1-8]", "INSERT OVERWRITE DIRECTORY 'CANARY' SELECT * FROM source"),
    with_step("UPDATE", "LL20[1-4]", "UPDATE silver_orders SET amount = 0"),
    with_step("MERGE", "LL20[1-4]", "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE"),
    with_step("CREATE TABLE AS", "LL20[1-4]", "CREATE TABLE x AS SELECT * FROM source"),
    with_step("CREATE FUNCTION", "LL20[1-4]", "CREATE FUNCTION f AS 'Evil' USING JAR 'http://127.0.0.1/evil.jar'"),
    with_step("ADD JAR", "LL20[1-8]", "ADD JAR 'http://127.0.0.1/evil.jar'"),
    with_step("SET", "LL20[1-8]", "SET spark.sql.warehouse.dir=/tmp"),
    with_step("CALL", "LL20[1-8]", "CALL system.run('id')"),
    with_step("EXECUTE IMMEDIATE", "LL20[1-8]", "EXECUTE IMMEDIATE 'DROP TABLE x'"),
    with_step("VACUUM", "LL20[1-8]", "VACUUM silver_orders RETAIN 0 HOURS"),
    with_step("LOAD DATA", "LL20[1-8]", "LOAD DATA INPATH '/etc/passwd' INTO TABLE silver_orders"),
    with_step("a second statement", "LL20[1-4]", "SELECT * FROM source; DROP TABLE silver_orders"),
    with_step("a statement behind a comment", "LL20[1-4]", "SELECT * FROM source -- x\n; DROP TABLE silver_orders"),
    with_step("a program", "LL20[1-8]", "SELECT TRANSFORM(note) USING 'touch CANARY' AS (x) FROM source"),
    with_step("a program by MAP", "LL20[1-8]", "FROM source MAP note USING 'touch CANARY' AS x SELECT x"),
    with_step("a file by its path", "LL207", "SELECT * FROM csv.`/etc/passwd`"),
    with_step("a file by another format", "LL207", "SELECT * FROM binaryFile.`OUTSIDE`"),
    with_step("a file in a WITH", "LL207", "WITH x AS (SELECT * FROM json.`/etc/hosts`) SELECT * FROM x"),
    with_step("a file in a join", "LL207", "SELECT * FROM source JOIN delta.`OUTSIDE/table` ON true"),
    with_step("a table nobody declared", "LL206", "SELECT * FROM hr.people"),
    with_step("a table by IDENTIFIER", "LL20", "SELECT * FROM IDENTIFIER('hr.people')"),
    with_step("a table function", "LL20", "SELECT * FROM read_files('/etc/passwd')"),
    with_step("the secrets of the platform", "LL20", "SELECT secret('scope', 'key') FROM source"),
    with_step("nine joins without a condition", "LL20[16]", "SELECT * FROM source a " + " ".join(
        f"JOIN source b{n}" for n in range(12)
    )),
    in_contract("SQL in a filter", "LL20", transformations="[{filter: {sql: 'true); DROP TABLE x; --'}}]"),
    in_contract("SQL in the name of a column", "no errors", code=0, model=(
        "{fields: [{name: 'a`; DROP TABLE x; --', type: string}]}"
    )),
    in_contract("a link with a query that writes", "LL20", links=(
        "[{name: rates, path: in/orders.csv, query: 'DELETE FROM {link}'}]"
    )),
    in_contract("a link with a filter on another table", "LL20", links=(
        "[{name: rates, path: in/orders.csv, filter: 'x IN (SELECT y FROM text.`/etc/passwd`)'}]"
    )),
    in_contract("a dataset rule that writes", "LL20", quality="{dataset_rules: [{name: d, sql: 'DROP TABLE x'}]}"),
)  # fmt: skip

ENTRIES = (*RULES, *STEPS)
