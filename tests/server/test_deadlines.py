from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from tests.server.conftest import word_tagger

from tagwright.server import deadlines
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel
from tagwright.server.serving import listen

HEAD = b"POST /v1/projects/bees/suggest HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."


class Recorded(deadlines.PromptProtocol):
    """A connection that a test finds, to let its time pass when the test wants it to."""

    last: Recorded

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        Recorded.last = self

    def time_passes(self) -> None:
        """What the timer does, once."""
        done = threading.Event()

        def pass_() -> None:
            self._timer.cancel()
            self._check()
            done.set()

        self.loop.call_soon_threadsafe(pass_)
        assert done.wait(LONGEST)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    app = application([ServedModel("bees", word_tagger(), "Bees")])
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(app, http=Recorded, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()
        server.should_exit = True
        thread.join()


@contextmanager
def sent(address: tuple[str, int], content: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=LONGEST) as connection:
        connection.sendall(content)
        yield connection


def everything(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    try:
        return b"".join(iter(lambda: connection.recv(65536), b""))
    except ConnectionResetError:
        return b""


def test_a_connection_on_which_nothing_comes_is_closed(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "HEAD_SECONDS", 0.05)
    with sent(address, b"") as connection:
        assert everything(connection) == b""  # does not end where nobody closes the connection


@pytest.mark.parametrize("before", [b"", HEALTH])
@pytest.mark.parametrize("begun", [b"GET /hea", HEAD])
def test_a_head_that_does_not_end_is_not_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, before: bytes, begun: bytes
) -> None:
    monkeypatch.setattr(deadlines, "HEAD_SECONDS", LONGEST)
    monkeypatch.setattr(Recorded, "last", None, raising=False)
    with sent(address, before + begun) as connection:
        until(lambda: Recorded.last)
        protocol = Recorded.last
        if before:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            until(lambda: protocol.cycle.response_complete)
            protocol.time_passes()  # since the answer
        protocol.time_passes()
        assert b"HTTP/1.1" not in everything(connection)


def test_a_request_under_way_is_not_cut_off(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "HEAD_SECONDS", LONGEST)
    monkeypatch.setattr(Recorded, "last", None, raising=False)
    with sent(address, HEAD + FORM + b"text=") as body:
        until(lambda: Recorded.last and Recorded.last.cycle)
        for _ in range(3):
            Recorded.last.time_passes()
        body.sendall(b"Honey+bees")
        assert body.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_end_is_not_waited_for(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "BODY_SECONDS", 0.1)
    with sent(address, HEAD + FORM + b"text=") as connection:
        assert everything(connection).startswith(b"HTTP/1.1 408")  # and the connection is closed


@pytest.mark.parametrize(
    ("method", "rest"),
    [
        (b"POST", b"Transfer-Encoding: chunked\r\n\r\n4\r\ntext\r\nzz\r\n"),  # in the middle of the body
        (b"HEAD", b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),  # an answer without a body
        (b"POST", b"Content-Length: 0\r\n\r\n\x00nonsense\r\n\r\n"),  # after a whole request
    ],
)
def test_nonsense_within_a_request_and_a_client_that_leaves_are_no_errors_of_the_server(
    address: tuple[str, int], caplog: pytest.LogCaptureFixture, method: bytes, rest: bytes
) -> None:
    head = HEAD.replace(b"Content-Length: 15\r\n", b"").replace(b"POST", method)
    with sent(address, head + FORM.removesuffix(b"\r\n") + rest) as connection:
        assert everything(connection)[9:12] in (b"400", b"405")  # whoever is first
    with sent(address, HEAD + FORM + b"text="):
        pass  # leaves in the middle of its body
    with sent(address, b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as connection:
        assert everything(connection).startswith(b"HTTP/1.1 200")
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
