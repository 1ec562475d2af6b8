"""The pictures of docs/ui.md: the pages of `dbdeid ui` on a made extract of a hospital.

    PYTHONPATH=tests/ui python tests/benchmarks/ui_pictures.py [--out docs/pictures/ui]

Needs Chromium with its driver, `pip install selenium pillow`, and what the tests need.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ui_table
from pages import OPTIONS, Browser, Threads
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from dbdeid.ui.rooms import opened
from dbdeid.ui.serving import serving

ROOT = Path(__file__).parents[2]
WIDTH, COLOURS = 1280, 128
DROPPED = (
    *("bed", "icd10_secondary", "cost_chf", "discharged_at", "height_cm", "weight_kg", "insurer"),
    *("smoker", "marital_status", "drg", "allergies", "ward", "length_of_stay"),
)
MEASURED = ("systolic", "diastolic", "heart_rate", "temperature", "creatinine", "hba1c")
ASKED = (
    "SELECT admission_type, COUNT(*) AS encounters, AVG(systolic) AS systolic\n"
    "FROM extract WHERE sex = 'F' GROUP BY admission_type"
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    yield driver
    driver.quit()


@contextmanager
def visible(browser: Browser, driver: Any) -> Iterator[str]:
    """The address at which a browser sees what was done."""
    place = opened(browser.room.desk.path)
    with serving(place, options=OPTIONS, worker=Threads()) as server:
        room = server.rooms[0]
        room.jobs.last.update(browser.room.jobs.last)
        room.looking.last.update(browser.room.looking.last)
        room._source = room._source_of(room.desk.sheet())
        driver.get(server.link)
        yield server.link.partition("/?")[0] + "/0/"


def taken(driver: Any, path: Path, top: str, height: int) -> None:
    """A picture of a page from an element on, in few colours."""
    WebDriverWait(driver, 30).until(lambda d: d.find_elements(By.CSS_SELECTOR, top))
    measures = {"width": WIDTH, "height": 4_000, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", measures)
    start = driver.execute_script(
        "return document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY", top
    )
    driver.save_screenshot(str(path))
    with Image.open(path) as whole:
        part = whole.crop((0, int(start), WIDTH, int(start) + height)).convert("RGB")
    few = part.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


def begun(browser: Browser, what: str, **fields: str) -> None:
    """Have work done."""
    job = browser.begun(what, **fields)
    if job.state != "done":
        raise SystemExit(f"{what}: {job.error}")


def decide(browser: Browser) -> None:
    """The decisions of somebody who knows the table."""
    many = [("column", browser.number(name)) for name in DROPPED]
    browser.done("role", *many, role="drop")
    many = [("column", browser.number(name)) for name in MEASURED]
    browser.done("reason", *many, reason="measured here, and told to nobody outside")
    browser.done("protect", column=browser.number("readmitted_30d"), l="2")
    for name, level in (("admitted_at", "3"), ("date_of_birth", "4")):
        browser.done("level", column=browser.number(name), level=level, which="from")


def policy(browser: Browser) -> None:
    """Another method, and its frontier: of columns whose values have an order."""
    some = ("nationality", "zip", "date_of_birth", "admitted_at")
    browser.done("role", *(("column", browser.number(name)) for name in some), role="drop")
    browser.done("subject", subject="rows")  # a policy counts records
    browser.role("length_of_stay", "quasi_identifier")
    ends = {"kind": "intervals", "text": "2, 4, 8", "lower": "0", "upper": "60"}
    browser.done("hierarchy", column=browser.number("length_of_stay"), **ends)
    browser.done("method", method="policy")
    begun(browser, "frontier")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures" / "ui")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, chromium() as driver:
        source = Path(folder) / "extract.csv"
        ui_table.write(source, 2_000)
        browser = Browser(source).open().looked()
        with visible(browser, driver) as at:
            driver.get(f"{at}columns")
            taken(driver, out / "columns.png", "header.desk", 840)
        decide(browser)
        browser.done("keep", page="ask", name="by_admission", sql=ASKED)
        begun(browser, "check")
        begun(browser, "search", ks="3,5,10,20", limits="0,2,5")
        begun(browser, "around")
        begun(browser, "run")
        begun(browser, "query", page="ask", sql=ASKED)
        with visible(browser, driver) as at:
            driver.get(f"{at}levels")
            taken(driver, out / "levels.png", f"#name-{browser.number('city')}", 620)
            driver.get(f"{at}tradeoff")
            taken(driver, out / "tradeoff.png", "header.desk", 900)
            driver.get(f"{at}release")
            taken(driver, out / "release.png", "#make", 620)
            driver.get(f"{at}ask")
            taken(driver, out / "ask.png", "header.desk", 620)
        policy(browser)
        with visible(browser, driver) as at:
            driver.get(f"{at}tradeoff")
            taken(driver, out / "frontier.png", "#frontier-title", 700)


if __name__ == "__main__":
    main()
