"""Whether a load of all files would only write again what is in the table.

It is left out where that is certain. Whatever is not known means that it is read: other sources than files, links, code
of somebody else, keys that mask, words that mean another thing tomorrow.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from lakelogic_assets.contract.document import Contract
from lakelogic_assets.contract.fingerprint import essence, fingerprint
from lakelogic_assets.contract.source import Source
from lakelogic_assets.plan.window import Window
from lakelogic_assets.spark import delta_log
from lakelogic_assets.spark.destination import Destination
from lakelogic_assets.spark.run_log import DATA_CAME, reports
from lakelogic_assets.spark.scope import Scope
from lakelogic_assets.spark.sources.read import delta_place
from lakelogic_assets.spark.sources.selection import select_files
from lakelogic_assets.spark.sources.snapshot import Boundary, SourceSnapshot
from lakelogic_assets.spark.tables import is_uri

_CHANGES_BY_ITSELF: Final = re.compile(
    r"current_(date|time|user|catalog|database|schema)|\bnow\b|today|localtime|\brand|uuid|unix_|sysdate|getdate|curdate"
    r"|shuffle|monotonically|lifecycle|freshness|input_file|_metadata|\b(from|join)\s+[`\w-]+\.",
    re.IGNORECASE,
)
_DID_NOTHING: Final = ("no_new_data", "skipped", "held")
_MOVES_FILES: Final = ("OPTIMIZE", "VACUUM START", "VACUUM END", "CLUSTER BY", "SET TBLPROPERTIES")


def would_change_nothing(scope: Scope, destination: Destination) -> bool:
    """Whether all files are those of the last run, which succeeded and left the table as it is now."""
    contract, source = scope.contract, scope.contract.source
    if source is None or not _is_made_of_files_alone(contract, source):
        return False
    place = scope.lakehouse.source_path(source.path or "")
    if is_uri(place) or delta_place(scope.lakehouse, source) is not None:
        return False
    last = _last_deed(destination.run_log, "/".join(contract.key))
    if last is None or not _left_the_table_as_it_is(last, destination.target):
        return False
    if last.get("fingerprint") != fingerprint(contract):
        return False
    found = SourceSnapshot(files=select_files(scope, source, place, Boundary()), description=place)
    return bool(found.files) and found.identity == (last.get("watermark") or {}).get("identity")


def _is_made_of_files_alone(contract: Contract, source: Source) -> bool:
    if source.load_mode != "full" or source.table is not None or source.dlt is not None or source.query is not None:
        return False
    if contract.links or contract.external_logic is not None:
        return False
    if any(field.masking for field in contract.model.fields):
        return False
    return _CHANGES_BY_ITSELF.search(json.dumps(essence(contract), default=str)) is None


def _last_deed(run_log: str, contract: str) -> dict[str, Any] | None:
    """The last run of all that has done anything, if it took in all there was."""
    last = next((each for each in reports(run_log, contract) if each["status"] not in _DID_NOTHING), None)
    if last is None or last["status"] not in DATA_CAME or not Window.from_dict(last["window"]).is_full:
        return None
    return last


def _left_the_table_as_it_is(last: dict[str, Any], target: str) -> bool:
    left, newest = last.get("versions_written", {}).get("target"), delta_log.version(target)
    if left is None or newest is None or newest < left or last.get("table_id") != delta_log.table_id(target):
        return False
    since = delta_log.commits(target, newest - left) if newest > left else []
    return len(since) == newest - left and all(each.get("operation") in _MOVES_FILES for each in since)
