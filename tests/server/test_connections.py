from __future__ import annotations

import asyncio
import errno
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.server.conftest import Clock, word_tagger

from tagwright.server import connections as limits
from tagwright.server import logs
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel
from tagwright.server.serving import listen

HEAD = b"POST /v1/projects/bees/suggest HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"

LARGE = 30_000_000

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."


class Recorded(limits.TimedConnection):
    """A connection that a test finds, to let its time pass when the test wants it to."""

    last: Recorded | None = None
    head, read = LONGEST, 2 * LONGEST
    later, is_lost = 0.0, False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        Recorded.last = self

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.is_lost = True

    def time_passes(self, seconds: float) -> None:
        """Look at the connection so much later."""
        self.later += seconds
        done = threading.Event()

        def look() -> None:
            self.abort_if_late(self.loop.time() + self.later)
            done.set()

        self.loop.call_soon_threadsafe(look)
        assert done.wait(LONGEST)

    @property
    def peer(self) -> object:
        return self.transport.get_extra_info("peername")

    @property
    def unsent(self) -> int:
        return self.transport.get_write_buffer_size()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


Address: TypeAlias = tuple[str, int]


@contextmanager
def crowded(
    most: int | None, app: ASGIApp = PlainTextResponse("{}"),  # noqa: B008
    connection: type[limits.TimedConnection] = Recorded,
) -> Iterator[tuple[Address, limits.Connections]]:  # fmt: skip
    """The address of a server with so many connections at most, three quarters of them of one address, and these."""
    with listen("127.0.0.1", 0) as listening:
        config = limits.limit_connections(app, connection, most, log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname(), config.http.open_connections  # type: ignore[union-attr]
        server.should_exit = True
        thread.join()


@contextmanager
def serving(app: ASGIApp, connection: type[limits.TimedConnection]) -> Iterator[Address]:
    with crowded(None, app, connection) as (address, _):
        yield address


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with serving(application([ServedModel("bees", word_tagger(), "Bees")]), Recorded) as address:
        yield address


@pytest.fixture
def large() -> Iterator[tuple[str, int]]:
    """The address of a server that answers more than the system takes at a time."""
    with serving(PlainTextResponse("x" * LARGE), Recorded) as address:
        yield address


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


def answer(client: socket.socket) -> bytes:
    """One answer, an object of JSON, which may come in pieces."""
    content = b""
    while not content.endswith(b"}"):
        piece = client.recv(65536)
        assert piece
        content += piece
    return content


def connection_of(client: socket.socket) -> Recorded:
    """The server's end of the last connection."""
    until(lambda: Recorded.last and not Recorded.last.is_lost and Recorded.last.peer == client.getsockname())
    assert Recorded.last
    return Recorded.last


def test_a_connection_on_which_nothing_comes_is_closed() -> None:
    class Impatient(limits.TimedConnection):
        head = 0.05

    app = application([ServedModel("bees", word_tagger(), "Bees")])
    with serving(app, Impatient) as address, sent(address, b"") as connection:
        assert everything(connection) == b""  # does not end where nobody closes the connection


@pytest.mark.parametrize("before", [b"", HEALTH])
@pytest.mark.parametrize("begun", [b"GET /hea", HEAD])
def test_a_head_that_does_not_end_is_not_waited_for(address: tuple[str, int], before: bytes, begun: bytes) -> None:
    with sent(address, before + begun) as client:
        connection = connection_of(client)
        if before:
            assert answer(client).startswith(b"HTTP/1.1 200")
            until(lambda: connection.ended)
        connection.time_passes(0)  # since the answer
        connection.time_passes(LONGEST)
        assert b"HTTP/1.1" not in everything(client)


def test_a_request_under_way_is_not_cut_off_and_time_begins_after_the_answer(address: tuple[str, int]) -> None:
    with sent(address, HEAD + FORM + b"text=") as client:
        connection = connection_of(client)
        until(lambda: connection.begun)
        for _ in range(3):
            connection.time_passes(LONGEST)
        client.sendall(b"Honey+bees")
        assert answer(client).startswith(b"HTTP/1.1 200")
        until(lambda: connection.ended)
        connection.time_passes(LONGEST)
        client.sendall(HEALTH)
        assert answer(client).startswith(b"HTTP/1.1 200")


def test_an_answer_is_not_cut_off_while_its_client_reads(large: tuple[str, int]) -> None:
    with sent(large, HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as client:
        connection = connection_of(client)
        until(lambda: connection.ended)  # all is handed over, and most of it not sent
        content = b""
        for _ in range(5):
            left = connection.unsent
            while connection.unsent == left:
                content += client.recv(65536)
            connection.time_passes(3 * LONGEST)
        content += everything(client)
        assert len(content.partition(b"\r\n\r\n")[2]) == LARGE


def test_a_client_that_reads_nothing_is_given_up(large: tuple[str, int]) -> None:
    with sent(large, HEALTH) as client:
        connection = connection_of(client)
        until(lambda: connection.ended)

        def is_lost_later() -> bool:
            connection.time_passes(2 * LONGEST)
            return connection.is_lost

        until(is_lost_later)  # the system takes some of it at first
        assert len(everything(client)) < LARGE


def test_a_body_that_does_not_end_is_not_waited_for(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.1)
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


def test_silent_connections_make_room_for_others_the_oldest_first() -> None:
    with crowded(8) as (address, connections), ExitStack() as stack:
        used = stack.enter_context(sent(address, HEALTH))
        assert answer(used).startswith(b"HTTP/1.1 200")
        silent = []
        for _ in range(20):
            silent.append(stack.enter_context(sent(address, b"")))
            connection_of(silent[-1])
        assert len(connections) == connections.share == 6
        assert [everything(each) for each in silent[:15]] == [b""] * 15  # closed
        with sent(address, HEALTH) as late:
            assert answer(late).startswith(b"HTTP/1.1 200")
        used.sendall(HEALTH)  # it was silent for longer, and yet is worth more
        assert answer(used).startswith(b"HTTP/1.1 200")
        assert connections.refused == 0


def test_the_rest_of_a_refused_body_is_read_and_the_connection_goes_on() -> None:
    app = application([ServedModel("bees", word_tagger(), "Bees")], max_body=100_000)
    body = HEAD.replace(b"Content-Length: 15", b"Content-Length: 2000000") + FORM + b"&a" * 1_000_000
    last = HEALTH.replace(b"Host: x", b"Host: x\r\nConnection: close")
    with serving(app, Recorded) as address, sent(address, body + last) as client:
        assert re.findall(rb"HTTP/1.1 (\d+)", everything(client)) == [b"413", b"200"]


def test_who_is_owed_an_answer_keeps_the_place_and_the_log_says_once_that_all_are_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, goes_on = list[int](), threading.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            begun.append(1)
            await asyncio.to_thread(goes_on.wait, LONGEST)
            await PlainTextResponse("x")(scope, receive, send)

    with crowded(4, slow) as (address, connections), ExitStack() as stack:
        asking = [stack.enter_context(sent(address, HEALTH)) for _ in range(3)]
        until(lambda: len(begun) == 3)
        for _ in range(5):
            with sent(address, b"") as refused:
                assert everything(refused) == limits.FULL
        goes_on.set()
        assert [each.recv(65536)[:12] for each in asking] == [b"HTTP/1.1 200"] * 3
        assert connections.refused == 5
    said = [record.getMessage() for record in caplog.records if record.levelname != "INFO"]
    assert said == ["all 4 connections of this server, or 3 of one address, are in use; 1 were refused so far"]


def test_a_body_that_stands_still_makes_room_too() -> None:
    app = application([ServedModel("bees", word_tagger(), "Bees")])
    with crowded(4, app) as (crowd, _), ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(sent(crowd, HEAD + FORM + b"text="))
        with sent(crowd, HEALTH) as client:
            assert answer(client).startswith(b"HTTP/1.1 200")


def test_connections_are_fewer_than_the_files_that_the_process_may_open() -> None:
    resource = pytest.importorskip("resource")
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 16 <= limits.most_connections() <= 4096
    assert limits.most_connections() <= max(16, files - 96)


def test_too_many_open_files_are_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    logs._no_room = logs.once_a_minute(Clock())
    loop = asyncio.new_event_loop()
    for _ in range(1000):
        error = OSError(errno.EMFILE, "Too many open files")
        logs.log_failures(loop, {"message": "socket.accept() out of system resource", "exception": error})
    loop.close()
    (record,) = caplog.records
    expected = "no connection can be accepted (Too many open files); raise the limit of open files"
    assert (record.getMessage(), record.exc_info) == (expected, None)
