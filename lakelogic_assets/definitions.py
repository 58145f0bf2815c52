"""The Dagster code location: every contract of the project as an asset of its graph."""

from lakelogic_assets.orchestration.build import build_definitions
from lakelogic_assets.project import find_project

defs = build_definitions(find_project())
