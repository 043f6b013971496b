"""Close connections whose clients do not send a request, or read an answer, in time; and limit their number.

Uvicorn limits how long an idle connection is kept after an answer. It does not limit the time to send the head of a
request, or to read an answer, nor does it close a silent connection to make room. `TimedConnection` does: it counts
the requests that are being answered, and asyncio tells how many bytes are unsent. The time of a body is limited by
`application`, which also limits its size.
"""

import asyncio
import logging
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tagwright.server.access import network
from tagwright.server.logs import once_a_minute

_log = logging.getLogger(__name__)

HEAD_SECONDS = 15.0
"Time limit for the first line and the headers of a request."

BODY_SECONDS = 120.0
"Time limit for the body of a request: 20 MB over a slow line."

REST_SECONDS = 0.02
"""Pause after each 256 kB of a refused body.

Its rest is read, since a client that still sends when the connection is closed may not see the answer.
"""

READ_SECONDS = 120.0
"Time limit for reading the next part of an answer. The system takes large parts: on a slow line, one a minute."

ACCEPTED = 16
"Connections that asyncio accepts at once, before they are counted."

FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\n"
    b'Connection: close\r\n\r\n{"type": "about:blank", "title": "Service Unavailable", "status": 503, '
    b'"detail": "All connections are in use; try again in 1 s"}'
)


def most_connections() -> int:
    """Return how many connections the server may have: at most 4,096, and 96 fewer than the process may open files."""
    most = 4096
    with suppress(ImportError):  # Windows has no such limit
        import resource

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            most = max(ACCEPTED, min(most, files - 96))
    return most


class Connections:
    """The open connections of a server. most: of all addresses; one address may have three quarters of these.

    A new one beyond that replaces the connection that has been silent longest, of those without any answer so far if
    there are some. If the server owes an answer to each of them, the new one is refused.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most_connections() if most is None else most
        self.share = max(1, self.most * 3 // 4)
        self.refused, self._is_warning_due = 0, once_a_minute()
        self._open = set[TimedConnection]()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: "TimedConnection") -> bool:
        """Add a new connection, if need be in place of a silent one. Return whether it may stay."""
        own = [other for other in self._open if other.address == connection.address]
        is_full = len(self) >= self.most
        if is_full or len(own) >= self.share:
            others = (other for other in (self._open if is_full else own) if other.is_silent)
            if (silent := min(others, key=lambda each: each.priority, default=None)) is None:
                self._refuse()
                return False
            self.discard(silent)
            silent.transport.abort()
        self._open.add(connection)
        return True

    def discard(self, connection: "TimedConnection") -> None:
        """Forget a connection that has ended."""
        self._open.discard(connection)

    def _refuse(self) -> None:
        self.refused += 1
        if self._is_warning_due():
            problem = "all %d connections of this server, or %d of one address, are in use; %d were refused so far"
            _log.warning(problem, self.most, self.share, self.refused)


class TimedConnection(H11Protocol):
    """A connection that is closed when its client is late.

    open_connections: of the server, set by `limit_connections`. head, read: time limits in seconds, see `HEAD_SECONDS`
    and `READ_SECONDS`; checked three times within the shorter one. begun, ended: number of requests that the
    application has begun, and finished, to answer.
    """

    open_connections: Connections
    head, read = HEAD_SECONDS, READ_SECONDS
    begun = ended = 0
    address = ""
    _progress = 0, 0, 0  # begun, ended and unsent bytes when these last changed
    _changed = _heard = 0.0  # when that was, and when the client last sent something, in seconds of the event loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as asyncio calls it
        """Start to wait for a request, if there is room for the connection."""
        super().connection_made(transport)
        self.app = self._counting(self.app)
        self.address = network(self.client[0] if self.client else "")
        self._changed = self._heard = self.loop.time()
        self._check_time()
        if not self.open_connections.add(self):
            transport.write(FULL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Read received data. Invalid data while an answer is being sent ends the connection."""
        self._heard = self.loop.time()
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # uvicorn tries to send an error response into the running answer
            self.transport.abort()
        if self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete:
            self.transport.pause_reading()
            self.loop.call_later(REST_SECONDS, self._read_on)

    def _read_on(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._timer.cancel()
        self.open_connections.discard(self)
        super().connection_lost(exc)

    def _counting(self, app: ASGIApp) -> ASGIApp:
        """Count the requests of this connection that the application has begun, and finished, to answer."""

        async def counting(scope: Scope, receive: Receive, send: Send) -> None:
            self.begun += 1
            try:
                await asyncio.sleep(0)  # let the loop first close a connection that sent invalid data behind the head
                await app(scope, receive, send)
            finally:
                self.ended += 1

        return counting

    @property
    def is_silent(self) -> bool:
        """Whether the server waits for the client: for a request, the rest of one, or that an answer is read."""
        answers = self.cycle is not None and not self.cycle.response_complete
        return not answers or self.conn.their_state is h11.SEND_BODY or self.transport.get_write_buffer_size() > 0

    @property
    def priority(self) -> tuple[bool, float]:
        """Silent connections are closed from the lowest on: those without any answer, then those silent longest."""
        return self.ended > 0, max(self._heard, self._changed)

    def abort_if_late(self, now: float) -> None:
        """Close the connection if the server waits for the client and a time limit has passed.

        Time does not count while the application computes, or while the client reads. now: the time of the event loop
        in seconds.
        """
        unsent = self.transport.get_write_buffer_size()
        progress = self.begun, self.ended, unsent
        if progress != self._progress or (self.begun > self.ended and not unsent):
            self._progress, self._changed = progress, now
        elif now - self._changed >= (self.read if unsent else self.head):
            self.transport.abort()  # closing would wait for a client that does not read

    def _check_time(self) -> None:
        self._timer = self.loop.call_later(min(self.head, self.read) / 3, self._check_time)
        self.abort_if_late(self.loop.time())


def limit_connections(
    app: ASGIApp, connection: type[TimedConnection] = TimedConnection, most: int | None = None, **options: Any
) -> uvicorn.Config:
    """Return a configuration of uvicorn with these options, time limits and a maximum number of connections.

    most: connections; None: see `most_connections`. Proxies are left to the application, the log to `logs`.
    """
    bounded = type(connection.__name__, (connection,), {"open_connections": Connections(most)})
    return uvicorn.Config(
        app, http=bounded, loop="asyncio", ws="none", proxy_headers=False, log_config=None, backlog=ACCEPTED,
        **options,
    )  # fmt: skip


def listen_more(sockets: Sequence[socket.socket]) -> None:
    """Let 2,048 connections wait in the system: asyncio sets that to the number that it accepts at once."""
    for listener in sockets:
        listener.listen(2048)
