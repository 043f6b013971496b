"""Deadlines for clients: a connection is closed whose client sends no request, or does not read its answer.

Uvicorn bounds how long a connection is kept after an answer, but neither how long the head of a request may take nor
how long an answer may wait to be read. So a protocol of our own stands between asyncio and that of uvicorn. It knows
from the application how many requests of a connection are being answered, and from asyncio how much is yet to be sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

HEAD_SECONDS = 15.0
"How long the first line and the headers of a request may take."

BODY_SECONDS = 120.0
"How long its body may take: 20 MB over a slow line."

READ_SECONDS = 120.0
"How long a client may read nothing of an answer. The system takes it in large pieces: on a slow line one a minute."

_current: ContextVar[TimedConnection] = ContextVar("_current")
"The connection on which a request has come: tasks have the context of whatever starts them."


class TimedConnection(asyncio.Protocol):
    """Passes everything on to another protocol, and closes the connection when the client is late.

    head, read: seconds, see `HEAD_SECONDS` and `READ_SECONDS`; it looks three times as often as the shorter one.
    begun, ended: requests that the application has begun and ended to answer.
    """

    def __init__(self, inner: asyncio.Protocol, head: float = HEAD_SECONDS, read: float = READ_SECONDS) -> None:
        self._inner, self._head, self._read = inner, head, read
        self.begun = self.ended = 0
        self._state, self._since = (0, 0, 0), 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as asyncio calls it
        """Begin to wait for a request."""
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._since = self._loop.time()
        self._timer = self._loop.call_later(min(self._head, self._read) / 3, self._look)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass on what the client sends. Nonsense in a request whose answer is on its way ends the connection."""
        _current.set(self)
        try:
            self._inner.data_received(data)
        except h11.LocalProtocolError:  # uvicorn answers it, even if it cannot
            self._transport.abort()

    def eof_received(self) -> bool | None:
        """Pass on that the client sends no more."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """Pass on that the client does not read as fast as is written."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that it has read."""
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._timer.cancel()
        self._inner.connection_lost(exc)

    def abort_if_late(self, now: float) -> None:
        """Close the connection if it is the client's turn and nothing has happened for too long.

        While the application computes, time does not count; nor as long as the client reads. now: seconds of the clock
        of the loop.
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
    """A configuration of uvicorn with these options, under which connections keep the deadlines."""
    config = uvicorn.Config(_counted(app), http="h11", ws="none", **options)
    config.load()
    protocol: Callable[..., asyncio.Protocol] = config.http_protocol_class

    def connection(**given: Any) -> TimedConnection:
        return wrap(protocol(**given))

    config.http_protocol_class = connection  # type: ignore[assignment]  # uvicorn only calls it
    return config


def _counted(app: ASGIApp) -> ASGIApp:
    """The same application; connections know which of their requests it is answering."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        connection = _current.get(None)
        if scope["type"] != "http" or connection is None:
            await app(scope, receive, send)
            return
        connection.begun += 1
        try:
            await asyncio.sleep(0)  # a connection that nonsense behind the head has ended is lost before the answer
            await app(scope, receive, send)
        finally:
            connection.ended += 1

    return counted
