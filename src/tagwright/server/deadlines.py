"""Close the connection of a client that does not send its request, or read the answer, in time.

Uvicorn limits how long an idle connection is kept after an answer. It does not limit the time to send the head of a
request, or to read an answer. `TimedConnection` does: the application tells it how many requests of a connection are
being answered, and asyncio how many bytes are unsent.
"""

import asyncio
from contextvars import ContextVar
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0
"Time limit for the first line and the headers of a request."

BODY_SECONDS = 120.0
"Time limit for the body of a request: 20 MB over a slow line."

READ_SECONDS = 120.0
"Time limit for reading the next part of an answer. The system takes large parts: on a slow line one a minute."

_current: "ContextVar[TimedConnection]" = ContextVar("_current")
"The connection of the current request: a task inherits the context in which it is started."


class TimedConnection(H11Protocol):
    """A connection that is closed when its client is late.

    head, read: seconds, see `HEAD_SECONDS` and `READ_SECONDS`; checked three times within the shorter one.
    begun, ended: number of requests that the application has begun, and finished, to answer.
    """

    head, read = HEAD_SECONDS, READ_SECONDS
    begun = ended = 0
    _state, _since = (0, 0, 0), 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as asyncio calls it
        """Start to wait for a request."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look()

    def data_received(self, data: bytes) -> None:
        """Read received data. Invalid data while an answer is being sent ends the connection."""
        _current.set(self)
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # uvicorn tries to send an error response into the running answer
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._timer.cancel()
        super().connection_lost(exc)

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


def timed(app: ASGIApp, connection: type[TimedConnection] = TimedConnection, **options: Any) -> uvicorn.Config:
    """Return a configuration of uvicorn with these options and with deadlines for connections.

    Proxies are believed by the application, which knows which; the log is written as `logs` says.
    """
    return uvicorn.Config(_counted(app), http=connection, ws="none", proxy_headers=False, log_config=None, **options)


def _counted(app: ASGIApp) -> ASGIApp:
    """Wrap the application: count the begun and the finished requests of each connection."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        connection = _current.get(None)
        if scope["type"] != "http" or connection is None:
            await app(scope, receive, send)
            return
        connection.begun += 1
        try:
            await asyncio.sleep(0)  # let the loop first close a connection that sent invalid data behind the head
            await app(scope, receive, send)
        finally:
            connection.ended += 1

    return counted
