"""Close the connection of a client that does not send its request, or read the answer, in time; and bound them all.

Uvicorn limits how long an idle connection is kept after an answer. It does not limit the time to send the head of a
request, or to read an answer, nor does it close a silent connection to make room. `TimedConnection` does: it counts
the requests that are being answered, and asyncio tells how many bytes are unsent.
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
"Pause after each 256 kB of a refused body. Its rest is read, or else the client might not see the answer."

READ_SECONDS = 120.0
"Time limit for reading the next part of an answer. The system takes large parts: on a slow line one a minute."

MOST, OWN_FILES = 4096, 96
"Connections at a time, where the system admits as many files; files that are left for everything else."

ACCEPTED, LISTENING = 16, 2048
"Connections that are accepted at a time, between looks at how many there are; those that wait for that in the system."

FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\n"
    b'Connection: close\r\n\r\n{"type": "about:blank", "title": "Service Unavailable", "status": 503, '
    b'"detail": "All connections are in use; try again in 1 s"}'
)


def most_connections() -> int:
    """How many connections the limit of open files of this process leaves room for."""
    with suppress(ImportError):  # Windows has no such limit
        import resource

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            return max(ACCEPTED, min(MOST, files - OWN_FILES))
    return MOST


class Connections:
    """The open connections of a server. most: of all addresses; an address has three quarters of these at most.

    Where there is no room for a new one, the one that has been silent longest makes room, first of all among those
    that never had an answer. If the server owes an answer to each of them, the new one is refused.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most_connections() if most is None else most
        self.share = max(1, self.most * 3 // 4)
        self.refused, self._now = 0, once_a_minute()
        self._by_address: dict[str, set[TimedConnection]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_address.values()))

    def add(self, connection: "TimedConnection") -> bool:
        """Whether there is room for a new connection."""
        own = self._by_address.get(connection.address, set())
        everyone = len(self) >= self.most
        if everyone or len(own) >= self.share:
            among = [each for group in self._by_address.values() for each in group] if everyone else list(own)
            silent = min((each for each in among if each.is_silent), key=lambda each: each.worth, default=None)
            if silent is None:
                self._refuse()
                return False
            self.discard(silent)
            silent.transport.abort()
        self._by_address.setdefault(connection.address, set()).add(connection)
        return True

    def discard(self, connection: "TimedConnection") -> None:
        """Forget a connection that has ended."""
        own = self._by_address.get(connection.address, set())
        own.discard(connection)
        if not own:
            self._by_address.pop(connection.address, None)

    def _refuse(self) -> None:
        self.refused += 1
        if self._now():
            _log.warning(
                "all %d connections of this server, or %d of one address, are in use; %d were refused so far",
                self.most, self.share, self.refused,
            )  # fmt: skip


class TimedConnection(H11Protocol):
    """A connection that is closed when its client is late.

    head, read: seconds, see `HEAD_SECONDS` and `READ_SECONDS`; checked three times within the shorter one.
    begun, ended: see `_counting`. all: the connections of the server, which `timed` sets.
    """

    head, read = HEAD_SECONDS, READ_SECONDS
    begun = ended = 0
    all: Connections
    address = ""
    _state, _since, _heard = (0, 0, 0), 0.0, 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as asyncio calls it
        """Start to wait for a request, if there is room for the connection."""
        super().connection_made(transport)
        self.app = self._counting(self.app)
        self.address = network(self.client[0] if self.client else "")
        self._since = self._heard = self.loop.time()
        self._look()
        if not self.all.add(self):
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
        self.all.discard(self)
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
    def worth(self) -> tuple[bool, float]:
        """Whether it ever sent a request that was answered, and when it last sent or read something."""
        return self.ended > 0, max(self._heard, self._since)

    def abort_if_late(self, now: float) -> None:
        """Close the connection if the server waits for the client and a time limit has passed.

        Time does not count while the application computes, or while the client reads. now: the time of the event loop
        in seconds.
        """
        unsent = self.transport.get_write_buffer_size()
        state = self.begun, self.ended, unsent
        if state != self._state or (self.begun > self.ended and not unsent):
            self._state, self._since = state, now
        elif now - self._since >= (self.read if unsent else self.head):
            self.transport.abort()  # closing would wait for a client that does not read

    def _look(self) -> None:
        self._timer = self.loop.call_later(min(self.head, self.read) / 3, self._look)
        self.abort_if_late(self.loop.time())


def timed(
    app: ASGIApp, connection: type[TimedConnection] = TimedConnection, most: int | None = None, **options: Any
) -> uvicorn.Config:
    """Return a configuration of uvicorn with these options, deadlines for connections, and a bound on them.

    most: connections; by default as many as the system's limit leaves. Proxies are believed by the application, which
    knows which; the log is written as `logs` says.
    """
    bounded = type(connection.__name__, (connection,), {"all": Connections(most)})
    return uvicorn.Config(
        app, http=bounded, loop="asyncio", ws="none", proxy_headers=False, log_config=None, backlog=ACCEPTED,
        **options,
    )  # fmt: skip


def listen_more(sockets: Sequence[socket.socket]) -> None:
    """Let more connections wait to be accepted than asyncio accepts between two looks at how many there are."""
    for each in sockets:
        each.listen(LISTENING)
