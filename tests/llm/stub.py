"""A language model on the loopback that says what a test tells it to say, and counts what it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, TypeAlias

Answer: TypeAlias = Callable[[dict[str, Any]], str | int | bytes | None]
"""What is answered to the user's message, JSON: the model's text, a status of HTTP, raw bytes, or None, a refusal.

A decision model is asked for a body with state and questions, and its text is JSON: the answers."""

_numbers = count()


class Stub:
    """The server. bodies: of all requests, in the order in which they came."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.model = f"stub-{next(_numbers)}"  # answers that are cached are of this one alone
        self.bodies = list[dict[str, Any]]()
        self.stopping = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.bodies.append(body)
                decides = self.path == "/v1/systemone"
                message = body if decides else json.loads(body["messages"][-1]["content"])
                stub.reply(self, stub.answer(message), decides=decides)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: Any) -> None:
                pass  # a client that does not wait for its answer

        self.server = Server(("127.0.0.1", 0), Handler)

    def reply(self, handler: BaseHTTPRequestHandler, answer: str | int | bytes | None, *, decides: bool) -> None:
        if isinstance(answer, int):
            handler.send_response(answer)
            if 300 <= answer < 400:
                handler.send_header("Location", "http://127.0.0.1:9/v1/chat/completions")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        message = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
        completion: dict[str, Any] = {"choices": [{"message": message}]}
        if decides and isinstance(answer, str):
            completion = {"model": "stub", "answers": json.loads(answer)}
        sent = answer if isinstance(answer, bytes) else json.dumps(completion).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(sent)))
        handler.end_headers()
        handler.wfile.write(sent)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The user's message of each request."""
        return [json.loads(body["messages"][-1]["content"]) for body in self.bodies]


@contextmanager
def serving(answer: Answer) -> Iterator[Stub]:
    stub = Stub(answer)
    thread = threading.Thread(target=stub.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.stopping.set()
        stub.server.shutdown()
        stub.server.server_close()
        thread.join()


def scores(numbers: Mapping[int, float]) -> str:
    """An answer of the ranking."""
    return json.dumps({"scores": [{"label": number, "score": score} for number, score in numbers.items()]})


def decisions(probabilities: Mapping[int, float]) -> str:
    """The answers of a decision model."""
    return json.dumps({str(number): {"type": "noul", "noul": p} for number, p in probabilities.items()})


def asked_about(message: Mapping[str, Any]) -> Sequence[str]:
    """The names of the labels that a decision model is asked about."""
    return [each["instructions"].rpartition("Subject: ")[2] for each in message["questions"].values()]


def names(message: Mapping[str, Any]) -> Sequence[str]:
    """The names of the labels that are to be ranked."""
    return [label["name"] for label in message["labels"]]
