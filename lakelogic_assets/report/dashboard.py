"""The quality of all data products on one page: from run-log rows to figures, and from figures to HTML or markdown."""

from lakelogic_assets.report.dashboard_html import as_html
from lakelogic_assets.report.dashboard_markdown import as_markdown
from lakelogic_assets.report.dashboard_records import Product, ProductQuality, QualitySummary
from lakelogic_assets.report.dashboard_summary import summarise

__all__ = ["Product", "ProductQuality", "QualitySummary", "as_html", "as_markdown", "summarise"]
