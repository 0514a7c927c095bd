"""A headless Chromium for the tests of pages."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
needed = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium and chromedriver here (Debian: apt-get install chromium-driver)"
)


def browser(profile: Path) -> Iterator:
    """A headless Chromium that keeps a log of its requests; it ends with the fixture that yields from this."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking",
                 "disable-component-update", "disable-sync", "no-first-run", f"user-data-dir={profile}"):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    driver.set_window_size(1280, 900)
    driver.set_page_load_timeout(90)
    yield driver
    driver.quit()
