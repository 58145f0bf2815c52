"""`python -m lakelogic_assets.cli` is `lakelogic`."""

from lakelogic_assets.cli import main

main()
