"""The Dagster code location: every contract of the project as an asset of its graph."""

import gc

from lakelogic_assets.orchestration.build import build_definitions
from lakelogic_assets.project import find_project

defs = build_definitions(find_project())

# It lives as long as this process, so the garbage collector need not walk through it whenever Dagster makes objects.
gc.freeze()
