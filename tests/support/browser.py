"""A headless Chromium over its debugging pipe, with nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


class Page:
    """One tab; `said` is its console, `requests` the addresses it asked for."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer, self._last, self._session = b"", 0, ""
        self.said: list[str] = []
        self.requests: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        found = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self._call(f"{domain}.enable")

    def load(
        self,
        file: Path,
        width: int,
        height: int = 844,
        scheme: str = "light",
        medium: str = "",
    ) -> None:
        """Open a file in a window of that size, and wait until it is loaded."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        dark = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", media=medium, features=dark)
        self._call("Page.navigate", url=file.resolve().as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Move, press or release the left button of the mouse at a place in the window."""
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def scripts(self, on: bool) -> None:
        """Whether pages that are opened from now on may run their scripts."""
        self._call("Emulation.setScriptExecutionDisabled", value=not on)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, or what its promise came to."""
        found = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        return found["result"].get("value")

    def picture(self) -> bytes:
        """The whole page as PNG."""
        found = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def paper(self) -> bytes:
        """The page as printed on A4, as PDF."""
        found = self._call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(found["data"])

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = os.read(self._read, 1 << 16)
            assert chunk, "chromium has gone"
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        match message.get("method"):
            case "Log.entryAdded":
                self.said.append(message["params"]["entry"]["text"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self.said.append(json.dumps(message["params"]))
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        return message


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A page of a fresh headless Chromium that lives as long as the block."""
    commands, answers = os.pipe(), os.pipe()
    # Chromium reads commands from descriptor 3 and answers on 4
    program = (
        f'exec "$0" --headless --no-sandbox --disable-gpu --hide-scrollbars '
        f'--user-data-dir="$1" --remote-debugging-pipe 3<&{commands[0]} 4>&{answers[1]}'
    )
    with subprocess.Popen(
        ["/bin/bash", "-c", program, str(CHROMIUM), str(profile)],
        pass_fds=(commands[0], answers[1]),
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(commands[0])
        os.close(answers[1])
        try:
            yield Page(commands[1], answers[0])
        finally:
            os.close(commands[1])
            process.terminate()
            process.wait()
            os.close(answers[0])
