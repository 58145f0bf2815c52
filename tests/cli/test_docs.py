"""`lakelogic docs`: a site of the project, written without Spark and opened from disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakelogic_assets.project import shipped_example
from tests.cli.conftest import ROOT, Call
from tests.report.site_pages import broken_links

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def written(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.html")}


@pytest.fixture
def example(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The site of the shipped example, which has not been run."""
    monkeypatch.setenv("LAKELOGIC_VAR_LAKE", str(tmp_path / "lake"))
    said = call("docs", "--project", shipped_example(), "--output", tmp_path / "site")
    assert said.code == 0, said.err
    return tmp_path / "site"


def test_the_example_has_a_site_without_a_broken_link(example: Path) -> None:
    pages = written(example)
    assert "contracts/retail.silver_crm_customers.html" in pages
    assert "domains/insurance.html" in pages
    assert broken_links(pages) == []


def test_the_site_is_told_to_programs(call: Call, shop: Path, tmp_path: Path) -> None:
    said = call("docs", "--project", shop, "--output", tmp_path / "site", "--json")
    assert '"pages": 3' in said.out


def test_pages_of_contracts_that_are_no_more_are_removed(call: Call, shop: Path, orders: Path, tmp_path: Path) -> None:
    call("docs", "--project", shop, "--output", tmp_path / "site")
    assert len(written(tmp_path / "site")) == 3
    orders.unlink()
    call("docs", "--project", shop, "--output", tmp_path / "site")
    assert set(written(tmp_path / "site")) == {"index.html", "map.html"}


def test_a_folder_with_something_else_in_it_is_not_touched(call: Call, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "index.html").write_text("mine")
    said = call("docs", "--project", shop, "--output", tmp_path / "precious")
    assert said.code == 1
    assert "something else" in said.err
    assert (tmp_path / "precious" / "index.html").read_text() == "mine"


def test_contracts_with_errors_are_named_on_the_site_and_by_the_exit_code(
    call: Call, shop: Path, orders: Path, tmp_path: Path
) -> None:
    orders.with_name("silver_bad.yaml").write_text("model: [\n")
    said = call("docs", "--project", shop, "--output", tmp_path / "site")
    assert said.code == 1
    assert "silver_bad.yaml:2:1" in written(tmp_path / "site")["index.html"]
    assert (tmp_path / "site" / "contracts" / "silver_orders.html").exists()


def test_no_jvm_is_started_for_it(shop: Path, tmp_path: Path) -> None:
    words = ["docs", "--project", str(shop), "--output", str(tmp_path / "site")]
    started = "__import__('pyspark').SparkContext._gateway is not None"
    code = f"import sys; from lakelogic_assets.cli.app import run; sys.exit(run({words}) or {started})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_it_opens_from_disk_finds_a_field_and_fits_the_screen(
    browser: Browser, example: Path, scheme: str, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: complaints.append(request.url) if "file:" not in request.url else None)
    page.goto((example / "contracts" / "retail.silver_crm_customers.html").as_uri())
    page.fill("input[type=search]", "email")
    page.press("input[type=search]", "Enter")
    page.wait_for_url("**/index.html?q=email")
    shown = page.locator("#contracts tbody tr:visible")
    assert 0 < shown.count() < page.locator("#contracts tbody tr").count()
    shown.first.locator("a").first.click()
    page.wait_for_url("**/contracts/*.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    page.close()
