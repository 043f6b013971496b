"""The server that a page starts: it answers on a free port, to which connections to the port of the page are led."""

from __future__ import annotations

import signal
import socket
import threading
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from queue import Queue
from typing import Any
from unittest import mock

PORT = 8765
"The port that the pages name, which another program may have taken."

LONGEST = 120.0
"Seconds to wait for a server before the test fails."


class LocalServer:
    """At most one server at a time, in a thread of this process."""

    def __init__(self) -> None:
        self.port, self._end = PORT, ExitStack()

    def start(self, run: Callable[[], str]) -> str:
        """Run `tagwright serve` until it answers; return what it printed, with the port of the page."""
        from tagwright.server import serving

        self.stop()
        really = serving.serve
        with mock.patch.object(serving, "serve", lambda *given: self._serve(really, *given)):
            printed = run()
        look_up = socket.getaddrinfo
        led = mock.patch.object(
            socket, "getaddrinfo", lambda host, port, *more, **named: look_up(host, self._led(port), *more, **named)
        )
        self._end.enter_context(led)
        return printed.replace(f":{self.port}", f":{PORT}")

    def stop(self) -> None:
        """End the server, if one runs."""
        self._end.close()

    def _led(self, port: Any) -> Any:
        return self.port if str(port) == str(PORT) else port

    def _serve(self, really: Callable[..., None], models: Any, options: Any, *others: Any) -> None:
        import uvicorn

        started = Queue[tuple[uvicorn.Server, int]]()

        class Noted(uvicorn.Server):
            def run(self, sockets: list[socket.socket] | None = None) -> None:
                assert sockets
                started.put((self, sockets[0].getsockname()[1]))
                super().run(sockets)

        thread = threading.Thread(target=really, args=(models, replace(options, port=0), *others), daemon=True)
        self._end.enter_context(mock.patch.object(signal, "signal"))  # a thread cannot set what signals do
        with mock.patch.object(uvicorn, "Server", Noted):
            thread.start()
            server, self.port = started.get(timeout=LONGEST)
        self._end.callback(thread.join, LONGEST)
        self._end.callback(setattr, server, "should_exit", True)


def request(words: Sequence[str]) -> str:
    """Return the answer to what curl is asked to send, with the options that the pages use."""
    headers, body, address = dict[str, str](), None, ""
    given = iter(words)
    for word in given:
        if word == "-H":
            name, _, value = next(given).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(given).encode()
        elif word != "-s":
            address = word
    assert address.startswith(f"http://127.0.0.1:{PORT}/"), address
    with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
        return str(answer.read().decode())
