"""The catalogue of problem codes: what each one means and how it is cured.

A code never changes its meaning. `lakelogic explain-error CODE` prints an entry, and
`docs/reference/errors.md` is generated from this table.
"""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Code:
    id: str
    severity: Severity
    title: str
    cure: str


def _table(severity: Severity, rows: dict[str, tuple[str, str]]) -> dict[str, Code]:
    return {id_: Code(id_, severity, title, cure) for id_, (title, cure) in rows.items()}


CODES: dict[str, Code] = {
    # reading a file
    **_table(
        "error",
        {
            "LL001": ("The file cannot be read", "Check that it exists and that you may read it."),
            "LL002": ("The file is not UTF-8 text", "Save it as UTF-8; other encodings change what names mean."),
            "LL003": ("The file is too large", "Contracts are read by people: split it, or move data out of it."),
            "LL004": ("The file is not valid YAML", "Look at the line: usually an indent, a colon or a quote."),
            "LL005": ("A key stands twice in one mapping", "Keep one of them; YAML would silently take the last."),
            "LL006": ("The file is nested too deeply", "No contract needs more than 40 levels."),
            "LL007": ("The file expands to too many values", "Anchors repeat a large block many times: write less."),
            "LL008": ("A YAML tag asks for code or a type of its own", "Remove the tag; write plain values."),
            "LL009": ("The file is not a mapping", "Start with keys such as `info:` and `model:`."),
            "LL010": ("The file holds more than one YAML document", "Put each contract in a file of its own."),
            "LL011": ("A key is not plain text", "Quote the key or rename it."),
            "LL012": (
                "A merge key (<<) does not name a mapping",
                "Point it at an anchor on a mapping, or a list of those.",
            ),
        },
    ),
    # what a section may say
    **_table(
        "error",
        {
            "LL101": (
                "An unknown key",
                "Correct the spelling; vendor settings belong under `extensions:` or `metadata:`.",
            ),
            "LL102": ("A required key is missing", "Add it; `lakelogic schema` gives your editor the full list."),
            "LL103": ("A value of the wrong type", "Write the kind of value that is named in the message."),
            "LL104": ("A value that is not allowed", "Use one of the values in the message."),
            "LL105": ("A number out of range", "Use a number inside the bounds in the message."),
            "LL106": (
                "An unknown data type",
                "Use a type of the language: string, int, long, double, decimal(p,s), date, …",
            ),
            "LL107": ("An entry must say exactly one thing", "One operation or one kind of rule per list entry."),
            "LL109": ("Keys that do not go together", "Keep the one that says what you mean."),
            "LL110": ("A period that cannot be understood", "Write a number and a unit: 3d, 12 hours, 1 month."),
            "LL112": (
                "A regular expression that does not compile",
                "Correct the pattern; in YAML, single quotes keep backslashes.",
            ),
            "LL114": ("An extension key without a namespace", "Name it like a domain: `com.acme.retention`."),
            "LL115": ("A date that cannot be understood", "Write it as 2026-02-03 (ISO 8601)."),
            "LL116": ("A name stands twice", "Rename one of them: every field, rule and link has a name of its own."),
            "LL117": ("A schedule that is not a cron expression", "Write five fields: `0 6 * * *`."),
            "LL120": (
                "Not in the canonical contract language",
                "`--strict` holds a contract to the OLC schema; drop the flag or the key.",
            ),
        },
    ),
    # SQL inside a contract
    **_table(
        "error",
        {
            "LL201": ("SQL that does not parse", "Correct the SQL; it is read as Spark SQL."),
            "LL202": (
                "SQL that is not one expression",
                "A row rule, a filter and a derived column are one expression each.",
            ),
            "LL203": ("SQL that is not one SELECT", "A `sql` step is one SELECT, or a list of select expressions."),
            "LL204": (
                "SQL that would change something",
                "Contracts only read; say how to write under `materialization:`.",
            ),
            "LL205": (
                "A function that is not on the allowed list",
                "Use Spark's own functions; those that reach out of the data are barred.",
            ),
            "LL206": (
                "SQL that reads a table the contract does not declare",
                "Read `source`, or declare the table under `links:`.",
            ),
            "LL207": ("SQL that reads a file by its path", "Declare the file under `links:` and read it by name."),
            "LL208": ("SQL that starts a program", "Use `external_logic:` for code."),
            "LL209": ("A row rule that aggregates", "A row rule sees one row; put this under `quality.dataset_rules`."),
        },
    ),
    # registries, inheritance, placeholders
    **_table(
        "error",
        {
            "LL302": ("One entity stands twice in a system", "Entities are unique inside a system and layer."),
            "LL305": (
                "A path needs an environment variable that is not set",
                "Set it, or give a default: ${NAME:-value}.",
            ),
            "LL306": (
                "A path holds a placeholder nobody fills",
                "Correct its name, or give it a value in the registry or in resources/.",
            ),
            "LL309": (
                "A secret may not be written into a contract",
                "Leave it in the environment; the engine reads it by itself.",
            ),
            "LL314": (
                "A path needs a variable that may hold a secret",
                "Give its value to a variable LAKELOGIC_VAR_…, which is made for contracts, and name that one.",
            ),
            "LL311": ("A path leaves the project", "Keep contracts inside the project folder."),
        },
    ),
    **_table(
        "warning",
        {
            "LL301": (
                "The index names a file that does not exist",
                "Correct the path or remove the entry; it is left out of the graph.",
            ),
            "LL303": ("The registry does not know this environment", "Add it under `environments:` or choose another."),
            "LL304": (
                "An environment variable is not set",
                "Set it, or give a default: ${NAME:-value}. An empty text is used.",
            ),
            "LL315": (
                "A variable that may hold a secret",
                "It stays a reference; if it is none, give its value to a variable LAKELOGIC_VAR_… and name that one.",
            ),
            "LL307": (
                "The domain file and the system file disagree",
                "The domain's value is used; make them the same.",
            ),
            "LL308": (
                "An inherited value does not fit",
                "The nearer file's value is used alone; correct the domain's.",
            ),
            "LL310": (
                "A contract that no index names",
                "Not run: add it to the system's `contracts:`, or say `include_unregistered: true` in resources/.",
            ),
            "LL312": (
                "A path waits for a registry",
                "The contract stands alone here: its registry, or resources/, gives the placeholder a value.",
            ),
            "LL313": (
                "A part of a registry that does not fit",
                "Correct it; until then it is not used, and everything else is.",
            ),
            "LL316": (
                "A landing folder that gives way to the default lake",
                "Make the folder, which then stays, or name the lake: `roots.storage_root` in resources/, or "
                "LAKELOGIC_VAR_LAKE.",
            ),
        },
    ),
    # one contract, and contracts together
    **_table(
        "error",
        {
            "LL401": ("An upstream that does not exist", "Correct the name, or declare where the table comes from."),
            "LL402": ("Contracts that wait for each other", "Remove one of the dependencies in the circle."),
            "LL403": ("Two contracts for one table", "Rename one table or disable one contract."),
            "LL405": (
                "A rule before the step that makes its column",
                "Drop `phase: pre` from the rule, or make the step `phase: pre`.",
            ),
            "LL406": ("Rows are merged without a key", "Add `primary_key: [...]`."),
            "LL408": ("A reference to a link that is not declared", "Declare it under `links:`."),
            "LL409": ("A link whose file does not exist", "Correct the path; it is relative to the contract."),
            "LL417": ("Not supported", "See the message for what to use instead."),
            "LL421": (
                "A key that never matches itself",
                "Encrypted values differ each time: use `hash` or `tokenize` on keys.",
            ),
            "LL422": ("External logic whose file does not exist", "Correct the path; it is relative to the contract."),
            "LL423": ("Change data without a way to tell changes", "Set `cdc_op_field` or `cdc_timestamp_field`."),
            "LL424": ("A fact kind that contradicts the strategy", "See the message for the strategies that fit."),
            "LL425": (
                "A policy pack that does not exist",
                "Correct `metadata.policy_pack` or add the pack under policy_packs/.",
            ),
            "LL428": (
                "A policy pack that contradicts a rule",
                "Give one of the two rules another name, or make them the same.",
            ),
            "LL429": (
                "A policy pack for another layer",
                "Choose a pack of the layer, or add the layer to the pack's `layers`.",
            ),
            "LL435": (
                "A reader option that leads away from the source's files",
                "Leave it out: options say how text becomes values; stores and keys are declared in resources/.",
            ),
            "LL426": ("A column that is not there", "Correct the name, or declare the column under `model.fields`."),
        },
    ),
    **_table(
        "warning",
        {
            "LL404": (
                "The file is not named after its table",
                "Name the file after the table: people look there first.",
            ),
            "LL407": (
                "Personal data without masking",
                "Add `masking: hash` (or redact, partial, nullify, tokenize, encrypt).",
            ),
            "LL410": (
                "Duplicates are removed without an order",
                "Add `sort_by`, so that the row that stays is the one you mean.",
            ),
            "LL411": ("No version", "Add `version: 1.0.0`; runs record which version made a table."),
            "LL412": ("No model", "Declare `model.fields`; without it the source's columns are taken as they come."),
            "LL413": ("A field without a type", "Add `type:`; string is used."),
            "LL414": ("A column nobody makes", "Correct the name, or declare the column under `model.fields`."),
            "LL415": ("Another engine", "Contracts run on Spark here; the value is ignored."),
            "LL416": ("An old spelling", "It still works; the message has the current one."),
            "LL418": (
                "Bounds that do nothing, or a number without bounds",
                "Give a numeric expression bounds; a boolean needs none.",
            ),
            "LL419": ("An unknown severity", "Use error, warning or info; anything else counts as error."),
            "LL420": (
                "A row count on something that is not a counter",
                "Use counts_source, counts_good or counts_total.",
            ),
            "LL430": (
                "A policy pack with another name than its file",
                "Packs are chosen by the name of their file; give both the same name.",
            ),
            "LL431": (
                "Rows that are appended again",
                "Merge them by key, replace them by partition, or drop `lookback`.",
            ),
            "LL432": (
                "A key that nothing reads",
                "Correct the spelling; if it is meant for another tool, it may stay.",
            ),
            "LL433": (
                "A factless fact with a measure",
                "Declare the number as a key or a foreign key, or choose another kind of fact.",
            ),
            "LL434": (
                "A source that is not read here",
                "Land it as files or as a table, or give the rows to the run.",
            ),
            "LL440": (
                "A rule that looks at a column before a step writes it",
                "Drop `phase: pre` from the rule if it is about what the step makes; what arrives may stay judged.",
            ),
            "LL441": (
                "A bin that leaves nothing for the next",
                "Give it a condition (lt, lte, gt, gte or eq), or put it last.",
            ),
            "LL442": (
                "A calendar whose file does not exist",
                "Put the file there if it makes more than days; else the engine's own calendar does.",
            ),
            "LL427": (
                "A rule that stands twice",
                "Rename or remove one; the second is reported with a number behind its name.",
            ),
        },
    ),
    # resources/ and partitions/
    **_table(
        "error",
        {
            "LL501": ("A resource needs an environment variable that is not set", "Set the variable in the message."),
            "LL502": ("An unknown time zone", "Use an IANA name such as Europe/Paris."),
            "LL503": ("A partition set that does not exist", "Name a file of partitions/, or add one."),
            "LL504": ("A file that is not named after what it declares", "`name` and the file name are the same."),
        },
    ),
    # what is set for one run
    **_table(
        "error",
        {
            "LL601": (
                "An override that cannot be read",
                "Write a key, an equals sign and a value: --set source.path=data/orders.",
            ),
            "LL602": ("A key that no run may set", "Change it in the contract, where others can review it."),
            "LL603": (
                "A path outside of the project's roots",
                "Stay inside the project and its lake, or declare the folder under `roots` in resources/.",
            ),
            "LL604": (
                "An override that fits no contract",
                "Set a key that a chosen contract has, or choose another contract.",
            ),
        },
    ),
}
