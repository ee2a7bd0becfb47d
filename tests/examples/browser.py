"""A real Chromium without a screen, and the chat's page in it as a person sees it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from eventstore import Session, Sessions
from tests.examples.waiting import LONG, connected, eventually
from tests.processes.running import ROOT, environment

SWITCHES = """
    --headless --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage --no-first-run --disable-sync
    --disable-background-networking --disable-component-update --disable-background-timer-throttling
    --disable-backgrounding-occluded-windows --disable-renderer-backgrounding --window-size=800,600
"""


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """The browser, with a profile in a new folder. Skips the test where there is none."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no Chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for switch in (*SWITCHES.split(), f"--user-data-dir={profile}"):
        options.add_argument(switch)
    opened = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield opened
    finally:
        opened.quit()


@attrs.define
class Server:
    """The server on one file, killed and started again at the same address."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def path(self) -> Path:
        return self.folder / "chat.db"

    @property
    def gate(self) -> Path:
        return self.folder / "gate"

    def start(self) -> None:
        arguments = [str(self.path), str(self.port), str(self.gate)]
        command = [sys.executable, "-m", "tests.examples.gated_server", *arguments]
        self.process = subprocess.Popen(command, env=environment(), cwd=ROOT)
        eventually(self.answers)

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the server ended"
        return connected(self.port)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(LONG)

    @contextmanager
    def session(self, chat: str) -> Iterator[Session]:
        """The conversation in its file, past the server."""
        with Sessions(self.path, durability="normal") as store:
            yield store.session(chat)


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = Server(folder, free.getsockname()[1])
    server.start()
    try:
        yield server
    finally:
        server.kill()


ROWS = """
return [...document.querySelectorAll("#rows > li")].map((row) => [
  row.querySelector(".body").textContent.toWellFormed().trim(), row.querySelector(".versions")?.textContent ?? ""]);
"""
IDS = """return [...document.querySelectorAll("#rows > li")].map((row) => row.dataset.id);"""
CLICK = """
const row = [...document.querySelectorAll("#rows > li")].at(arguments[0]);
const button = row?.querySelector(`[data-what=${arguments[1]}]`);
button?.click();
return !!button;
"""
PLACE = """
const view = document.querySelector("main");
if (arguments[1] !== null) view.scrollTop = arguments[1];
const row = document.querySelector(`[data-id="${arguments[0]}"]`);
return row.getBoundingClientRect().top - view.getBoundingClientRect().top;
"""


@attrs.define
class Page:
    """The page in a window of its own."""

    driver: webdriver.Chrome
    window: str

    @classmethod
    def open(cls, driver: webdriver.Chrome, server: Server, chat: str) -> Page:
        """In the browser's first window, in the place of what is there."""
        driver.switch_to.window(driver.window_handles[0])
        return cls.load(driver, server, chat)

    @classmethod
    def open_beside(cls, driver: webdriver.Chrome, server: Server, chat: str) -> Page:
        """In a window of its own, until it is closed."""
        driver.switch_to.new_window("window")
        return cls.load(driver, server, chat)

    @classmethod
    def load(cls, driver: webdriver.Chrome, server: Server, chat: str) -> Page:
        driver.get(f"http://127.0.0.1:{server.port}/?chat={chat}")
        page = cls(driver, driver.current_window_handle)
        eventually(page.in_step)
        return page

    def run(self, script: str, *arguments: object) -> Any:
        if self.driver.current_window_handle != self.window:
            self.driver.switch_to.window(self.window)
        return self.driver.execute_script(script, *arguments)

    def in_step(self) -> bool:
        return bool(self.run("return document.getElementById('state').textContent === 'In step'"))

    def reload(self) -> None:
        self.run("location.reload()")
        eventually(self.in_step)

    def close(self) -> None:
        self.driver.switch_to.window(self.window)
        self.driver.close()
        self.driver.switch_to.window(self.driver.window_handles[0])

    def send(self, text: str) -> None:
        """As a person does: types it, then Enter."""
        self.run("return 0")
        self.driver.find_element("id", "text").send_keys(text + "\n")

    def rows(self) -> list[list[str]]:
        """(text, "2/3") of each row that is shown."""
        found: list[list[str]] = self.run(ROWS)
        return found

    def texts(self) -> list[str]:
        return [text for text, _ in self.rows()]

    def ids(self) -> list[str]:
        found: list[str] = self.run(IDS)
        return found

    def whole(self) -> bool:
        """Whether nothing older is offered."""
        return bool(self.run("return document.getElementById('older').hidden"))

    def click(self, row: int, what: str) -> None:
        """A button of a row, once it is there. Rows are counted from 0, or from the end with -1."""
        eventually(lambda: self.run(CLICK, row, what))

    def place(self, message_id: str, scroll_to: int | None = None) -> float:
        """How far below the upper edge of the conversation a row begins, in pixels; first scrolls if it is told to."""
        return float(self.run(PLACE, message_id, scroll_to))

    def at_end(self) -> bool:
        script = "const v = document.querySelector('main'); return v.scrollHeight - v.scrollTop - v.clientHeight < 2"
        return bool(self.run(script))
