"""Close the connection of a client that does not send its request, or read the answer, in time.

Uvicorn limits how long an idle connection is kept after an answer. It does not limit the time to send the head of a
request, or to read an answer. So `TimedConnection` stands between asyncio and the protocol of uvicorn. The application
tells it how many requests of a connection are being answered, and asyncio how many bytes are unsent.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

HEAD_SECONDS = 15.0
"Time limit for the first line and the headers of a request."

BODY_SECONDS = 120.0
"Time limit for the body of a request: 20 MB over a slow line."

READ_SECONDS = 120.0
"Time limit for reading the next part of an answer. The system takes large parts: on a slow line one a minute."

_current: "ContextVar[TimedConnection]" = ContextVar("_current")
"The connection of the current request: a task inherits the context in which it is started."


class TimedConnection(asyncio.Protocol):
    """Pass all events on to another protocol, and close the connection when the client is late.

    head, read: seconds, see `HEAD_SECONDS` and `READ_SECONDS`; checked three times within the shorter one.
    begun, ended: number of requests that the application has begun, and finished, to answer.
    """

    def __init__(self, inner: asyncio.Protocol, head: float = HEAD_SECONDS, read: float = READ_SECONDS) -> None:
        self._inner, self._head, self._read = inner, head, read
        self.begun = self.ended = 0
        self._state, self._since = (0, 0, 0), 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as asyncio calls it
        """Start to wait for a request."""
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._since = self._loop.time()
        self._timer = self._loop.call_later(min(self._head, self._read) / 3, self._look)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass on received data. Invalid data while an answer is being sent ends the connection."""
        _current.set(self)
        try:
            self._inner.data_received(data)
        except h11.LocalProtocolError:  # uvicorn tries to send an error response into the running answer
            self._transport.abort()

    def eof_received(self) -> bool | None:
        """Pass on that the client has finished sending."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """Pass on that the write buffer is full."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the write buffer has room again."""
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._timer.cancel()
        self._inner.connection_lost(exc)

    def abort_if_late(self, now: float) -> None:
        """Close the connection if the server waits for the client and a time limit has passed.

        Time does not count while the application computes, or while the client reads. now: the time of the event loop
        in seconds.
        """
        unsent = self._transport.get_write_buffer_size()
        state = self.begun, self.ended, unsent
        if state != self._state or (self.begun > self.ended and not unsent):
            self._state, self._since = state, now
        elif now - self._since >= (self._read if unsent else self._head):
            self._transport.abort()  # closing would wait for a client that does not read

    def _look(self) -> None:
        self._timer = self._loop.call_later(min(self._head, self._read) / 3, self._look)
        self.abort_if_late(self._loop.time())


def timed(
    app: ASGIApp, wrap: Callable[[asyncio.Protocol], TimedConnection] = TimedConnection, **options: Any
) -> uvicorn.Config:
    """Return a configuration of uvicorn with these options and with deadlines for connections.

    Proxies are believed by the application, which knows which; the log is written as `logs` says.
    """
    config = uvicorn.Config(_counted(app), http="h11", ws="none", proxy_headers=False, log_config=None, **options)
    config.load()
    protocol: Callable[..., asyncio.Protocol] = config.http_protocol_class

    def connection(**given: Any) -> TimedConnection:
        return wrap(protocol(**given))

    config.http_protocol_class = connection  # type: ignore[assignment]  # uvicorn only calls it
    return config


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
