"""Connections in, those closed whose next request does not begin in time: slow clients must not use them all up.

Uvicorn bounds how long a connection is kept after an answer, not how long the head of a request may take. And where the
body of a request breaks off into nonsense, it answers twice, which is an error of its own in the log.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 15.0
"How long the first line and the headers of a request may take."

BODY_SECONDS = 120.0
"How long its body may take: 20 MB over a slow line."

_REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class PromptProtocol(H11Protocol):
    """Uvicorn's own, for clients that say within `HEAD_SECONDS` to twice as many what they want."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._answered: RequestResponseCycle | None = None
        self._timer = self.loop.call_later(HEAD_SECONDS, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._timer.cancel()
        super().connection_lost(exc)

    def send_400_response(self, _: str) -> None:
        """Refuse what is no HTTP. Whoever answers the request that it is a part of learns that the client has gone."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_REFUSAL)
            self.transport.close()
        else:
            self.transport.abort()

    def _check(self) -> None:
        """Close a connection on which no request has begun since the last time; one under way may go on."""
        cycle: RequestResponseCycle | None = self.cycle
        waits = cycle is None or cycle.response_complete
        if waits and cycle is self._answered:
            self.transport.abort()  # closing would wait for a client that does not read
        else:
            self._answered = cycle
            self._timer = self.loop.call_later(HEAD_SECONDS, self._check)
