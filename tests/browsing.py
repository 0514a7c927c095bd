"""A headless Chromium for the tests of pages."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
needed = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason=(
        "no chromium and chromedriver here (Debian: apt-get install chromium-driver)"
    ),
)


def browser(profile: Path) -> Iterator:
    """A headless Chromium that keeps a log of its requests; it ends with the fixture
    that yields from this.
    """
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "no-first-run",
        f"user-data-dir={profile}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability(
        "goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"}
    )
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=DRIVER)
    )
    driver.set_window_size(1280, 900)
    driver.set_page_load_timeout(90)
    driver.set_script_timeout(180)
    driver.get(
        "about:blank"
    )  # the page that a browser shows at first loads parts of its own
    yield driver
    driver.quit()


def show(browser, address: str, emulated: Mapping[str, dict] | None = None) -> None:
    """Open a page from disk, as on the screen that `emulated` describes (CDP command ->
    parameters), and wait for it.

    Where the browser stops answering, which it does now and then on a busy machine, it
    is tried once more in a new tab.
    """
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    there = (
        "return location.protocol === 'file:' && document.readyState === 'complete' &&"
        " !!document.body"
    )
    for again in (False, True):
        try:
            if again:
                browser.switch_to.new_window("tab")
            for command, parameters in (emulated or {}).items():
                browser.execute_cdp_cmd(command, parameters)
            browser.get(
                "about:blank"
            )  # else the same address with another fragment is not loaded anew
            browser.get(address)
            WebDriverWait(browser, 30).until(lambda one: one.execute_script(there))
            return
        except TimeoutException:
            if again:
                raise
