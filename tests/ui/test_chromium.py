"""The page in Chromium: from a CSV to a verified release with the keyboard alone, and by clicks.

What axe-core finds of it is judged by the copy that comes with axe-playwright-python.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="pip install selenium")
if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
    pytest.skip("no chromium: apt-get install chromium chromium-driver", allow_module_level=True)

from axe import axe
from pages import OPTIONS, Browser, Threads
from ruamel.yaml import YAML
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from dbdeid.ui.rooms import opened
from dbdeid.ui.serving import serving

pytestmark = pytest.mark.full
PATIENCE = 60  # seconds: machines are busy


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(word)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    driver.set_script_timeout(PATIENCE)
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
    go(page, "Release")
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


def go(driver: Any, name: str) -> None:
    """Follow a link between the pages."""
    settled(driver, lambda: driver.find_element(By.LINK_TEXT, name).click())
    page = f"[data-page={name.lower().replace('-', '')}]"
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, page))


def test_labels_are_dragged_onto_each_other_and_merged(page: Any, people: Path) -> None:
    go(page, "Levels")
    until(page, lambda: page.find_elements(By.CSS_SELECTOR, "#slide-4"))
    page.execute_script(
        """
        const slider = document.getElementById("slide-4");
        slider.value = 0;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        """
    )
    labels = page.find_elements(By.CSS_SELECTOR, '[data-column="4"] .level:not([hidden]) li')
    names = [one.find_element(By.CLASS_NAME, "label").text for one in labels]
    assert sorted(names) == ["Basel", "Bern", "Chur", "Thun"]
    bern, thun = (labels[names.index(name)] for name in ("Bern", "Thun"))
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", bern)

    def named() -> bool:
        hand = ActionChains(page).click_and_hold(bern).move_by_offset(9, 3).move_to_element(thun)
        hand.move_by_offset(3, 1).pause(0.2).move_by_offset(2, 1).pause(0.2).release().perform()
        return page.switch_to.active_element.get_attribute("value") == "Bern or Thun"

    until(page, named)
    ActionChains(page).send_keys("Bern region", Keys.ENTER).perform()

    def merged() -> bool:
        entry = YAML(typ="safe").load(people.with_suffix(".yml"))["columns"]["city"]
        groups = entry["hierarchy"]["groups"] if isinstance(entry["hierarchy"], dict) else [{}]
        return sorted(groups[0].get("Bern region", ())) == ["Bern", "Thun"]

    until(page, merged)


def test_the_frontier_has_a_slider_and_a_policy_is_chosen_by_a_click(
    chromium: Any, drafted: tuple[Path, object], tmp_path: Path
) -> None:
    shutil.copytree(drafted[0], tmp_path, dirs_exist_ok=True)
    browser = Browser(tmp_path / "people.yml").open().looked()
    for name in ("diagnosis", "flurb"):
        browser.role(name, "drop")
    browser.done("method", method="policy", page="tradeoff")
    job = browser.begun("frontier", page="tradeoff")
    assert job.state == "done", job.error
    points = job.result["points"]  # type: ignore[index]
    with serving(opened(tmp_path / "people.yml"), options=OPTIONS, worker=Threads()) as server:
        server.rooms[0].jobs.last.update(browser.room.jobs.last)
        chromium.get(server.link)
        until(chromium, lambda: server.rooms[0].looked)
        go(chromium, "Trade-off")
        slider = chromium.find_element(By.ID, "point")
        slider.send_keys(Keys.HOME)
        for place, point in enumerate(points[:4]):
            shown = chromium.find_elements(By.CSS_SELECTOR, ".point:not([hidden])")
            assert [one.get_attribute("data-point") for one in shown] == [str(place)]
            assert f"{point['risk']:.4g}" in shown[0].text
            mark = chromium.find_element(By.CSS_SELECTOR, ".plot .now")
            assert mark.get_attribute("cx") == shown[0].get_attribute("data-x")
            slider.send_keys(Keys.ARROW_RIGHT)
        slider.send_keys(Keys.ARROW_LEFT)
        click(chromium, ".point:not([hidden]) .choose-point")
        text = f"choose: {{point: {points[3]['point']}}}"
        until(chromium, lambda: text in (tmp_path / "people.yml").read_text())
        slider = chromium.find_element(By.ID, "point")
        assert slider.get_attribute("value") == "3"  # it stays where it was


# -- all pages with all that they can show ---------------------------------------------------------

PAGES = ("columns", "levels", "tradeoff", "release", "ask")
WIDE = """
return [...document.querySelectorAll("main *")]
  .filter(one => one.getBoundingClientRect().right > arguments[0] && !one.closest(".scroll"))
  .map(one => `${one.tagName} ${one.className} ${one.id}: ${one.textContent.slice(0, 60)}`);
"""
ASKED = "SELECT sex, COUNT(*) AS n FROM people WHERE age < 45 GROUP BY sex"


@pytest.fixture(scope="module")
def full(chromium: Any, drafted: tuple[Path, object], tmp_path_factory: Any) -> Iterator[str]:
    """The address of a page on which everything was done: runs, a search, a check, a question."""
    folder = tmp_path_factory.mktemp("full")
    shutil.copytree(drafted[0], folder, dirs_exist_ok=True)
    browser = Browser(folder / "people.yml").open().looked()
    browser.role("diagnosis", "sensitive")
    browser.done("protect", column=browser.number("diagnosis"), l="2")
    browser.done("role", column=browser.number("flurb"), role="drop")
    browser.done("keep", page="ask", name="by_sex", sql=ASKED)
    for what in ("check", "search", "around", "run", "releases", "verify", "hand_out"):
        job = browser.begun(what, folder="to_send", ks="3,5", limits="0,5")
        assert job.state == "done", job.error
    browser.done("promise", k="3", limit="5", page="release")
    assert browser.begun("trial").state == "done"
    assert browser.begun("query", page="ask", sql=ASKED, trial="yes").state == "done"
    with serving(opened(folder / "people.yml"), options=OPTIONS, worker=Threads()) as server:
        server.rooms[0].jobs.last.update(browser.room.jobs.last)
        chromium.get(server.link)
        until(chromium, lambda: server.rooms[0].looked)
        yield server.link.partition("/?")[0] + "/0/"


@contextmanager
def shown(driver: Any, width: int, scheme: str = "light") -> Iterator[None]:
    """A window of a width, in light or dark."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    yield
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_page_is_wider_than_the_window(chromium: Any, full: str, width: int) -> None:
    with shown(chromium, width):
        for name in PAGES:
            chromium.get(full + name)
            found = chromium.execute_script("return document.documentElement.scrollWidth")
            assert found <= width, (name, chromium.execute_script(WIDE, width))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_axe_finds_nothing_serious(chromium: Any, full: str, width: int, scheme: str) -> None:
    script = axe()
    with shown(chromium, width, scheme):
        for name in PAGES:
            chromium.get(full + name)
            chromium.execute_script(script)
            assert chromium.execute_script(
                f"return matchMedia('(prefers-color-scheme: {scheme})').matches"
            )
            found = chromium.execute_async_script(
                "const done = arguments[arguments.length - 1]; axe.run(document).then(done, done)"
            )
            assert len(found["passes"]) > 20  # it did look
            wrong = [
                (
                    one["id"],
                    one["impact"],
                    one["nodes"][0]["html"],
                    one["nodes"][0]["failureSummary"],
                )
                for one in found["violations"]
                if one["impact"] in ("serious", "critical")
            ]
            assert not wrong, (name, wrong)


def test_a_slider_shows_a_level_at_once(page: Any) -> None:
    go(page, "Levels")
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
