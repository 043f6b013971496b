"""One client cannot hold what others wait for: threads, the model, files, memory for bodies and answers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message
from tests.server.conftest import word_tagger

from tagwright.server import request_bodies, served_model
from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.current_request import CurrentRequest, begin, get_current_request
from tagwright.server.predictor import SuggestRequest, predict
from tagwright.server.problems import Busy, Problem
from tagwright.server.served_model import ServedModel
from tagwright.server.turns import FREE, UNREAD, WAITING, Memory, Turns
from tagwright.tagger import Suggestions, Tagger
from tagwright.types import Document

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."


@pytest.fixture
def turns() -> Iterator[Turns]:
    made = Turns()
    yield made
    made.shutdown()


class Steps:
    """Steps of clients in threads, which go on until they are told to end."""

    def __init__(self, turns: Turns) -> None:
        self.turns, self.begun, self._ends = turns, list[str](), dict[str, threading.Event]()
        self.steps = dict[str, Future[None]]()

    def start(self, name: str, used: float = 0.0) -> None:
        """name: the client, then a number. used: seconds of the processor that the step takes."""
        end = self._ends[name] = threading.Event()

        def step() -> None:
            self.begun.append(name)
            assert end.wait(LONGEST)
            until = time.thread_time() + used
            while time.thread_time() < until:
                pass

        def submit() -> None:
            begin(CurrentRequest(client=name[0].strip("-")))
            self.steps[name] = self.turns.submit(step)

        copy_context().run(submit)

    def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
            self.steps[name].result(LONGEST)

    def wait(self, count: int) -> list[str]:
        """The steps that have begun, when there are so many."""
        end = time.monotonic() + LONGEST
        while len(self.begun) < count:
            assert time.monotonic() < end
            time.sleep(0.001)
        return self.begun


def test_a_client_has_two_threads_and_others_have_theirs_at_once(turns: Turns) -> None:
    steps = Steps(turns)
    for name in ("a1", "a2", "a3", "b1", "-1"):
        steps.start(name)
    assert sorted(steps.wait(4)) == ["-1", "a1", "a2", "b1"]  # - is the server itself
    steps.end("a1")
    assert steps.wait(5)[4:] == ["a3"]
    steps.end("a2", "a3", "b1", "-1")


def test_a_free_thread_goes_to_the_client_that_has_computed_least() -> None:
    turns = Turns(count=1)
    steps = Steps(turns)
    steps.start("a1", used=0.05)
    steps.wait(1)
    for name in ("a2", "b1", "b2"):
        steps.start(name, used=0.001)
    steps.end("a1")
    steps.end("b1", "b2", "a2")
    assert steps.begun == ["a1", "b1", "b2", "a2"]  # though a2 was first
    turns.shutdown()


def test_who_has_had_a_share_of_the_processor_waits_while_others_compute(turns: Turns) -> None:
    steps = Steps(turns)
    steps.start("a1", used=0.2)
    steps.end("a1")
    begun = time.monotonic()
    steps.start("-1")
    steps.start("a2")
    assert steps.wait(3)[2] == "a2"
    # at most 0.1 s beyond a quarter of the processor: what is more than that is waited for, four times as long
    assert time.monotonic() - begun >= 0.3
    steps.start("a3", used=0.3)
    steps.end("a2", "a3", "-1")
    begun = time.monotonic()
    steps.start("a4")
    steps.wait(5)
    assert time.monotonic() - begun < 1  # nobody else is there
    steps.end("a4")


def test_nothing_is_computed_for_who_leaves_answers_unread(turns: Turns) -> None:
    steps, read = Steps(turns), asyncio.Event()

    async def test() -> None:
        async def send(_: Message) -> None:
            await read.wait()

        begin(CurrentRequest(client="a"))
        message = {"type": "http.response.body", "body": b"x" * (UNREAD + 1)}

        async def answer() -> None:
            await turns.counted(send)(message)

        sending = asyncio.create_task(answer())
        await asyncio.sleep(0)
        waiting = asyncio.create_task(turns.may_begin())
        for name in ("a1", "b1"):
            steps.start(name)
        await asyncio.sleep(0.1)
        assert (steps.begun, waiting.done()) == (["b1"], False)
        read.set()
        await asyncio.gather(sending, waiting)
        assert await asyncio.to_thread(steps.wait, 2) == ["b1", "a1"]
        steps.end("a1", "b1")

    run(test)


def test_answers_are_sent_in_pieces_and_are_the_same(turns: Turns) -> None:
    async def test() -> None:
        sent = list[Message]()

        async def send(message: Message) -> None:
            sent.append(message)

        counted, body = turns.counted(send), bytes(range(256)) * 1000
        for message in ({"type": "http.response.start", "status": 200}, {"type": "http.response.body", "body": body}):
            await counted(message)
        assert sent[0] == {"type": "http.response.start", "status": 200}
        assert b"".join(each["body"] for each in sent[1:]) == body
        assert [each["more_body"] for each in sent[1:]] == [True, True, True, False]
        assert max(len(each["body"]) for each in sent[1:]) == FREE

    run(test)


def test_a_client_is_alone_with_one_request_at_a_time_and_few_wait(turns: Turns) -> None:
    async def test() -> None:
        begun, ends = list[str](), {name: asyncio.Event() for name in "abc"}

        async def request(client: str, name: str, *, left: bool = False) -> None:
            begin(CurrentRequest(client=client))

            async def receive() -> Message:
                await asyncio.sleep(0 if left else LONGEST)
                return {"type": "http.disconnect"}

            async with get_current_request().held:
                for _ in range(2):  # a second file of the same request
                    await turns.alone(Request({"type": "http"}, receive))
                begun.append(name)
                await ends[name].wait()

        first, other = (asyncio.create_task(request(*each)) for each in (("a", "a"), ("b", "b")))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(request("a", "c"))
        waiting = [asyncio.create_task(request("a", "c")) for _ in range(WAITING - 1)]
        await asyncio.sleep(0.01)
        assert begun == ["a", "b"]
        with pytest.raises(Busy):
            await request("a", "c")
        for each in waiting:
            each.cancel()
        ends["a"].set()
        ends["c"].set()
        await asyncio.gather(first, second)
        assert begun == ["a", "b", "c"]
        ends["b"].set()
        await other

    run(test)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=12))
def test_every_step_is_done_once(asked: list[tuple[str, int]]) -> None:
    turns, done = Turns(count=3, each=1), list[int]()
    for number, (client, _) in enumerate(asked):

        def submit(client: str = client, number: int = number) -> None:
            begin(CurrentRequest(client=client))
            turns.submit(done.append, number)

        copy_context().run(submit)
    turns.shutdown()
    assert sorted(done) == list(range(len(asked)))


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), LONGEST)

    asyncio.run(bounded())


def test_memory_is_bounded_for_one_client_and_for_all() -> None:
    memory = Memory(most=100, each=40)
    memory.take("a", 40)
    with pytest.raises(Problem, match="Your requests hold 40 bytes already, at most 40 are accepted") as problem:
        memory.take("a", 1)
    assert (problem.value.status, problem.value.headers) == (429, {"Retry-After": "1"})
    memory.take("b", 40)
    with pytest.raises(Problem, match="All requests hold 80 bytes already, at most 100 are accepted") as problem:
        memory.take("c", 21)
    assert problem.value.status == 503
    memory.give_back("a", 40)
    memory.take("c", 21)
    memory.give_back("b", 40)
    memory.give_back("c", 21)
    assert memory.held == 0


@contextmanager
def uploading(monkeypatch: pytest.MonkeyPatch, tokens: tuple[str, ...]) -> Iterator[tuple[TestClient, Any]]:
    """A server of which each file is read until the event of its name is set."""
    ends = {name: threading.Event() for name in ("a1", "a2", "a3", "b1")}
    reading = dict[str, threading.Event]({name: threading.Event() for name in ends})

    def read(name: str, _: bytes) -> list[Document]:
        reading[name].set()
        assert ends[name].wait(LONGEST)
        return [Document(name, "Bees")]

    monkeypatch.setattr(request_bodies, "read_upload", read)
    access = Access.of(file=Path(tokens[0])) if tokens else Access()
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")], access=access)) as client:
        yield client, (reading, ends)


def test_four_uploads_of_one_client_keep_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"a": "a" * 16, "b": "b" * 16}
    (tmp_path / "tokens").write_text("".join(f"{secret} suggest {name}\n" for name, secret in secrets.items()))

    def send(name: str) -> int:
        headers = {"Authorization": f"Bearer {secrets[name[0]]}"}
        return client.post("/api/files", files={"file": (name, b"Bees")}, headers=headers).status_code

    with uploading(monkeypatch, (str(tmp_path / "tokens"),)) as (client, (reading, ends)), ThreadPoolExecutor() as pool:
        first = pool.submit(send, "a1")
        assert reading["a1"].wait(LONGEST)
        others = [pool.submit(send, name) for name in ("a2", "a3")]
        ends["b1"].set()
        assert pool.submit(send, "b1").result(LONGEST) == 200  # while all of a's wait
        assert not reading["a2"].is_set()
        assert not reading["a3"].is_set()
        for event in ends.values():
            event.set()
        assert [each.result(LONGEST) for each in (first, *others)] == [200] * 3


def test_documents_of_a_client_wait_behind_those_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a batch is computed, one client sends batch after batch; then another asks for one document."""
    batches, begun, goes_on = list[int](), threading.Event(), threading.Event()

    def slow(tagger: Tagger, requests: Sequence[SuggestRequest]) -> list[Suggestions]:
        batches.append(sum(each.document.text == "Tax law" for each in requests))
        begun.set()
        assert goes_on.wait(LONGEST)
        return predict(tagger, requests)

    async def test() -> None:
        monkeypatch.setattr(served_model, "predict", slow)
        model = ServedModel("bees", word_tagger(), "Bees")
        await model.start()

        async def ask(client: str, texts: list[str]) -> None:
            begin(CurrentRequest(client=client))
            assert get_current_request().client == client
            await model.suggest(texts, model.options(k=1))

        many = [asyncio.create_task(ask("a", ["Bees"] * 32)) for _ in range(6)]
        await asyncio.to_thread(begun.wait, LONGEST)
        while model.waiting < 5 * 32:
            await asyncio.sleep(0.001)
        with pytest.raises(Busy):
            await ask("a", ["Bees"])  # its share waits already
        other = asyncio.create_task(ask("b", ["Tax law"]))
        while model.waiting == 5 * 32:
            await asyncio.sleep(0.001)
        goes_on.set()
        await asyncio.gather(other, *many)
        assert batches.index(1) <= 2  # behind what was taken before, of at least six
        await model.stop()

    run(test)


def test_bodies_whose_end_is_withheld_hold_no_more_than_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty bodies of one client, each 200 kB so far; beside them another client sends one."""
    memory = Memory(most=3_000_000, each=500_000)
    monkeypatch.setattr("tagwright.server.application.Memory", lambda: memory)
    app = application([ServedModel("bees", word_tagger(), "Bees")])
    ends = asyncio.Event()

    async def post(address: str, size: int, *, withheld: bool) -> int:
        parts = iter([{"type": "http.request", "body": b"text=Bees" + b"x" * size, "more_body": True}])
        status = list[int]()

        async def receive() -> Any:
            if (part := next(parts, None)) is None:
                if withheld:
                    await ends.wait()
                return {"type": "http.request", "body": b"", "more_body": False}
            return part

        async def send(message: Any) -> None:
            status.extend([message["status"]] if message["type"] == "http.response.start" else [])

        headers = [(b"content-type", b"application/x-www-form-urlencoded")]
        scope = {"type": "http", "method": "POST", "path": "/v1/projects/bees/suggest", "query_string": b"",
                 "headers": headers, "client": (address, 1), "server": ("x", 80), "scheme": "http", "root_path": "",
                 "http_version": "1.1", "raw_path": b""}  # fmt: skip
        await app(scope, receive, send)
        return status[0]

    async def test() -> None:
        async with app.router.lifespan_context(app):
            tasks = [asyncio.create_task(post("10.0.0.1", 200_000, withheld=True)) for _ in range(40)]
            while sum(each.done() for each in tasks) < 37:
                await asyncio.sleep(0)
            assert 0 < memory.held <= 500_000
            assert await post("10.0.0.2", 200_000, withheld=False) == 200
            assert await post("10.0.0.1", FREE - 1000, withheld=False) == 200  # short ones hold nothing
            ends.set()
            statuses = await asyncio.gather(*tasks)
        assert sorted(set(statuses)) == [200, 429]
        assert statuses.count(200) == 3  # each holds 200 kB less the first 64
        assert memory.held == 0

    run(test)
