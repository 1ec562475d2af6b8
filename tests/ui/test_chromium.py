"""The page in Chromium: from a CSV to a verified release with the keyboard alone, and by clicks."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="pip install selenium")
if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
    pytest.skip("no chromium: apt-get install chromium chromium-driver", allow_module_level=True)

from pages import OPTIONS, Threads
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from dbdeid.ui.rooms import opened
from dbdeid.ui.serving import serving

pytestmark = pytest.mark.full
PATIENCE = 150  # seconds: machines are busy


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    yield driver
    driver.quit()


@pytest.fixture
def page(chromium: Any, people: Path) -> Iterator[Any]:
    """The page of a table that was just opened, once its columns were looked at."""
    with serving(opened(people), options=OPTIONS, worker=Threads()) as server:
        chromium.set_window_size(1280, 900)
        chromium.get(server.link)
        until(chromium, lambda: "2 to decide" in text(chromium) and server.rooms[0].looked)
        yield chromium
        errors = [line for line in chromium.get_log("browser") if line["level"] == "SEVERE"]
        assert not [line for line in errors if "/state" not in line["message"]]


def text(driver: Any) -> str:
    return str(driver.execute_script("return document.body.innerText"))


def until(driver: Any, holds: Any) -> None:
    ignored = (StaleElementReferenceException,)
    waiting = WebDriverWait(driver, PATIENCE, poll_frequency=0.2, ignored_exceptions=ignored)
    waiting.until(lambda _: holds())


def settled(driver: Any, work: Callable[[], Any]) -> Any:
    """Do something on a page that may just be replaced by a newer one."""
    for _ in range(20):
        try:
            return work()
        except StaleElementReferenceException:
            time.sleep(0.1)
    return work()


def click(driver: Any, selector: str) -> None:
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, selector))
    settled(driver, lambda: driver.find_element(By.CSS_SELECTOR, selector).click())


def test_from_a_csv_to_a_verified_release_by_clicks(page: Any, people: Path) -> None:
    assert "token" not in page.current_url
    click(page, "#row-5 button[value=sensitive]")
    until(page, lambda: page.find_elements(By.ID, "p5"))
    click(page, "#p5")
    until(page, lambda: "1 to decide" in text(page))
    click(page, "#row-6 button[value=drop]")
    until(page, lambda: "0 to decide" in text(page))
    assert "flurb: {role: drop}" in people.with_suffix(".yml").read_text()
    settled(page, lambda: page.find_element(By.LINK_TEXT, "Release").click())
    until(page, lambda: page.find_elements(By.ID, "k"))
    page.execute_script("document.getElementById('k').focus()")
    ActionChains(page).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
    ActionChains(page).send_keys("3", Keys.ENTER).perform()
    until(page, lambda: "k: 3" in people.with_suffix(".yml").read_text())
    until(page, lambda: page.find_element(By.ID, "run").is_enabled())
    click(page, "#run")
    until(page, lambda: "promises verified" in text(page))
    click(page, "#hand_out")
    until(page, lambda: "May leave" in text(page).replace("MAY LEAVE", "May leave"))
    assert (people.parent / "to_send" / "people_release.parquet").is_file()


def test_the_keyboard_is_enough(page: Any, people: Path) -> None:
    def press(*keys: str) -> None:
        for key in keys:
            ActionChains(page).send_keys(key).perform()

    page.execute_script("document.querySelector('#row-5 .choose button[tabindex=\"0\"]').focus()")
    press(Keys.ARROW_DOWN)
    assert page.execute_script("return document.activeElement.closest('tr').id") == "row-6"
    press("d")
    until(page, lambda: "flurb: {role: drop}" in people.with_suffix(".yml").read_text())
    until(page, lambda: "1 to decide" in text(page))
    page.execute_script("document.querySelector('#row-5 .choose button[tabindex=\"0\"]').focus()")
    press(Keys.ARROW_RIGHT, Keys.ENTER)
    until(page, lambda: "diagnosis: {role: drop}" in people.with_suffix(".yml").read_text())
    until(page, lambda: "0 to decide" in text(page))
    press("u")
    until(page, lambda: "1 to decide" in text(page))
    press("/")
    press("diagnosis")
    shown = "return [...document.querySelectorAll('tbody tr:not([hidden])')].map(row => row.id)"
    assert page.execute_script(shown) == ["row-5"]
    page.execute_script("document.querySelector('#row-5 .choose button[tabindex=\"0\"]').focus()")
    press("d")
    until(page, lambda: "0 to decide" in text(page))
    settled(page, lambda: page.find_element(By.LINK_TEXT, "Release").send_keys(Keys.ENTER))
    until(page, lambda: page.find_element(By.ID, "run").is_enabled())
    settled(page, lambda: page.find_element(By.ID, "run").send_keys(Keys.ENTER))
    until(page, lambda: "promises verified" in text(page))


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_page_is_wider_than_the_window(page: Any, width: int) -> None:
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    for name in ("columns", "levels", "tradeoff", "release", "ask"):
        page.get(page.current_url.rpartition("/")[0] + f"/{name}")
        assert page.execute_script("return document.documentElement.scrollWidth") <= width, name
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_slider_shows_a_level_at_once(page: Any) -> None:
    page.find_element(By.LINK_TEXT, "Levels").click()
    until(page, lambda: page.find_elements(By.CSS_SELECTOR, "#slide-2"))
    slider = page.find_element(By.CSS_SELECTOR, "#slide-2")
    height = int(slider.get_attribute("max"))
    for _ in range(height):
        slider.send_keys(Keys.ARROW_LEFT)
    for level in range(height + 1):
        shown = page.find_elements(By.CSS_SELECTOR, '[data-column="2"] .level:not([hidden])')
        assert [one.get_attribute("data-level") for one in shown] == [str(level)]
        slider.send_keys(Keys.ARROW_RIGHT)
    seconds = page.execute_script(
        """
        const slider = document.getElementById("slide-2"), began = performance.now();
        slider.value = 0;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        document.body.getBoundingClientRect();
        return (performance.now() - began) / 1000;
        """
    )
    assert seconds > 0


def test_nothing_runs_that_is_not_ours(page: Any) -> None:
    page.execute_script(
        "const made = document.createElement('script'); made.textContent = 'window.evil = 1';"
        "document.body.append(made);"
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.evil = 1\">');"
    )
    assert page.execute_script("return window.evil") is None
    refused = page.get_log("browser")
    assert any("Content Security Policy" in line["message"] for line in refused)
