"""A local HTTP server that can misbehave, and folders of their own for each test."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@dataclass
class Server:
    """Contents by path, and how the next answers go wrong."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True  # whether a part of a file can be asked for
    lengths: bool = True  # whether answers say how long they are
    truncate: int = 0  # so many answers end in the middle
    corrupt: int = 0  # so many answers hold wrong bytes
    status: dict[str, list[int]] = field(default_factory=dict)  # errors to answer with first
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path, range
    sent: int = 0
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    server_side: Server

    def do_GET(self) -> None:
        side = self.server_side
        side.asked.append((self.path, self.headers["Range"]))
        if side.status.get(self.path):
            return self.send_error(side.status[self.path].pop(0))
        if self.path not in side.files:
            return self.send_error(404)
        content = side.files[self.path]
        start, code = 0, 200
        if side.ranges and (found := re.match(r"bytes=(\d+)-", self.headers["Range"] or "")):
            start, code = int(found[1]), 206
            if start >= len(content):
                return self.send_error(416)
        if side.corrupt:
            side.corrupt -= 1
            content = bytes(byte ^ 1 for byte in content)
        self._answer(content, start, code)

    def _answer(self, content: bytes, start: int, code: int) -> None:
        side = self.server_side
        body = content[start:]
        self.send_response(code)
        if code == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if side.lengths:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if side.truncate:
            side.truncate -= 1
            body = body[: len(body) // 2]
        side.sent += len(body)
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    side = Server()
    handler = type("BoundHandler", (Handler,), {"server_side": side})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        side.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield side
        http.shutdown()
        thread.join()


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without data: no ADACAP_DATA, an empty cache, which is returned."""
    monkeypatch.delenv("ADACAP_DATA", raising=False)
    monkeypatch.setenv("ADACAP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file below the folder of the test."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
