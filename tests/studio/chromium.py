"""A studio as a process and a Chromium that looks at its page, for tests."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: An error that Chromium itself writes down for an answer that is no success; tests ask for such answers.
EXPECTED = "Failed to load resource"


@dataclass
class Studio:
    """A process of ``mmopt studio`` and the address that it printed."""

    process: subprocess.Popen[str]
    address: str

    @property
    def origin(self) -> str:
        return self.address.partition("#")[0]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@contextmanager
def studio(port: int = 0) -> Iterator[Studio]:
    """A studio on a port, 0 for a free one."""
    command = [sys.executable, "-m", "mmopt", "studio", "--no-browser", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = next((line.strip() for line in process.stdout if "http://" in line), "")
            assert address, "mmopt studio ended before it printed an address"
            yield Studio(process, address[address.index("http://") :])
        finally:
            process.terminate()


@contextmanager
def chromium(folder: Path) -> Iterator["Browser"]:
    """Debian's Chromium without a window; the test is skipped where it or Selenium is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="no Selenium: pip install 'mmopt[browser]'")
    from selenium.webdriver.chrome.service import Service

    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in programs:
        pytest.skip("no Chromium: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(programs[1]))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class Browser:
    """A Chromium and what a reader does with it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.size(1400)

    # -- looking

    def js(self, code: str, *arguments: object) -> Any:
        """The value of an expression of JavaScript."""
        return self.driver.execute_script(f"return {code}", *arguments)

    def wait(self, code: str, *arguments: object, limit: float = 60) -> float:
        """The seconds until an expression of JavaScript is true."""
        started = time.perf_counter()
        while not self.js(code, *arguments):
            if time.perf_counter() - started > limit:
                pytest.fail(f"never so: {code} {arguments}; the page says: {self.text('#status')!r}")
            time.sleep(0.01)
        return time.perf_counter() - started

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def text(self, selector: str) -> str:
        """The text that is seen in an element."""
        return str(self.js("document.querySelector(arguments[0])?.innerText ?? ''", selector))

    # -- doing

    def size(self, width: int, height: int = 1000) -> None:
        """A window of this size, as a device's."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(self, name: str) -> None:
        """Colours for day or night: "light" or "dark"."""
        feature = {"name": "prefers-color-scheme", "value": name}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def open(self, address: str) -> None:
        """A page of its own, checked for the first time."""
        self.driver.get("about:blank")
        self.driver.get(address)
        self.settle()

    def settle(self) -> None:
        """Until the text has been checked."""
        self.wait("document.querySelector('#count').textContent !== ''")

    def write(self, selector: str, text: str) -> None:
        """Another text in a field, as pasted over all that was there."""
        from selenium.webdriver.common.keys import Keys

        field = self.find(selector)
        field.send_keys(Keys.CONTROL, "a")
        self.driver.execute_cdp_cmd("Input.insertText", {"text": text})

    def program(self, text: str) -> None:
        """Another program in the editor, checked."""
        self.js("document.querySelector('#count').textContent = ''")
        self.write("#text", text)
        self.settle()

    def set(self, selector: str, value: object) -> None:
        """Another value of a slider, a choice or a number."""
        self.js(
            "(([e, v]) => { e.value = v; for (const kind of ['input', 'change'])"
            " e.dispatchEvent(new Event(kind, {bubbles: true})); })"
            "([document.querySelector(arguments[0]), arguments[1]])",
            selector,
            str(value),
        )

    def click(self, selector: str) -> None:
        self.js("document.querySelector(arguments[0]).click()", selector)

    def tab(self, name: str) -> None:
        self.find(f"#tab-{name}").click()

    def solve(self) -> float:
        """The seconds of a solve, to its picture."""
        self.click("#solve")
        return self.wait("document.querySelector('#stop').disabled")

    # -- what it did besides

    def errors(self) -> list[str]:
        """Errors in the console since the last call, those of the content's policy with them."""
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and EXPECTED not in entry["message"]
        ]

    def requests(self) -> list[str]:
        """The addresses asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
