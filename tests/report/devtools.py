"""A headless Chromium that is driven over its own protocol, by pipes: real keys, a telephone's width, dark mode."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from browser import BROWSER

SECONDS = 60
QUIET = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe")  # fmt: skip
KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}
"""Keys with their codes."""


class Browser:
    """One page of a browser; a context manager that ends the browser."""

    def __init__(self, folder: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def hand_over() -> None:
            # The browser reads from 3 and writes to 4; copies keep one from overwriting the other.
            one, two = os.dup(to_read), os.dup(to_write)
            os.dup2(one, 3)
            os.dup2(two, 4)

        self.process = subprocess.Popen(
            [str(BROWSER), *QUIET, f"--user-data-dir={folder}"], close_fds=False, preexec_fn=hand_over,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._rest, self._count, self._session = b"", 0, None
        self.problems: list[str] = []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log"):
            self(f"{part}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._read)

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command; returns its result, and keeps what the page reports meanwhile."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._count:
                assert "error" not in found, found
                return found["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        found = json.loads(line)
        if found.get("method") == "Runtime.exceptionThrown":
            self.problems.append(found["params"]["exceptionDetails"]["exception"]["description"])
        if found.get("method") == "Log.entryAdded" and found["params"]["entry"]["level"] == "error":
            self.problems.append(found["params"]["entry"]["text"])
        return found

    def view(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The size of the window, and whether the reader wants dark pages."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Load a page and wait for it."""
        self("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives in the page."""
        found = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression holds."""
        deadline = time.monotonic() + SECONDS
        while not self.value(expression):
            assert time.monotonic() < deadline, f"never: {expression}"
            time.sleep(0.02)

    def press(self, key: str, times: int = 1) -> None:
        """Press a key, as a person at the keyboard does."""
        text = {"text": "\r"} if key == "Enter" else {}
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key], **text)
                text = {}
            text = {"text": "\r"} if key == "Enter" else {}

    def write(self, text: str) -> None:
        """Type a text where the focus is."""
        self("Input.insertText", text=text)

    def picture(self, file: Path) -> None:
        """A picture of the whole page."""
        size = self("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(found["data"]))
