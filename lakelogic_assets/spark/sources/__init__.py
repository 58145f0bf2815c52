"""Where rows come from: files, tables, and the reference data that steps look things up in."""

from lakelogic_assets.spark.sources.failures import explain_failure
from lakelogic_assets.spark.sources.links import read_link
from lakelogic_assets.spark.sources.read import read_source
from lakelogic_assets.spark.sources.snapshot import Boundary, FileStat, SourceRead, SourceSnapshot

__all__ = ["Boundary", "FileStat", "SourceRead", "SourceSnapshot", "explain_failure", "read_link", "read_source"]
