"""One client cannot hold what others wait for: slots of work, and memory for bodies."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger

from tagwright.server import request_bodies, served_model
from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.current_request import CurrentRequest, begin, current
from tagwright.server.predictor import SuggestRequest, predict
from tagwright.server.problems import Busy, Problem
from tagwright.server.served_model import ServedModel
from tagwright.server.shares import FREE, FairSlots, Memory
from tagwright.tagger import Suggestion, Tagger
from tagwright.types import Document

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."


class Work:
    """Tasks of clients that hold slots until they are told to end."""

    def __init__(self, slots: FairSlots) -> None:
        self.slots, self.begun, self._tasks = slots, list[str](), dict[str, tuple[asyncio.Event, asyncio.Task[None]]]()

    async def start(self, name: str, size: int = 1) -> None:
        """name: the client, then a number."""
        end = asyncio.Event()

        async def hold() -> None:
            begin(CurrentRequest(client=name[0]))
            async with self.slots.taken(size):
                self.begun.append(name)
                await end.wait()

        self._tasks[name] = end, asyncio.create_task(hold())
        await self.settle()

    async def end(self, name: str) -> None:
        end, task = self._tasks[name]
        end.set()
        await task
        await self.settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name][1].cancel()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), LONGEST)

    asyncio.run(bounded())


def test_a_free_slot_goes_to_the_client_that_holds_fewest() -> None:
    async def test() -> None:
        work = Work(FairSlots(count=2, each=2))
        for name in ("a1", "a2", "a3", "a4", "b1"):
            await work.start(name)
        assert work.begun == ["a1", "a2"]
        await work.end("a1")
        assert work.begun[2:] == ["b1"]  # though a3 was first
        await work.end("a2")
        await work.end("b1")
        assert work.begun[3:] == ["a3", "a4"]

    run(test)


def test_too_many_that_wait_are_refused_the_most_of_one_client_first() -> None:
    async def test() -> None:
        work = Work(FairSlots(count=1, each=1, waiting=3, share=2))
        for name in ("a1", "a2", "a3", "b1"):
            await work.start(name)
        for client in ("a", "b"):
            begin(CurrentRequest(client=client))
            with pytest.raises(Busy):
                async with work.slots.taken():
                    pass
        assert work.slots.length == 3

    run(test)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=12))
def test_every_slot_that_is_asked_for_is_given_and_comes_back(asked: list[tuple[str, int]]) -> None:
    async def test() -> None:
        slots, held, done = FairSlots(count=3, each=2), 0, 0

        async def hold(client: str, size: int) -> None:
            nonlocal held, done
            begin(CurrentRequest(client=client))
            async with slots.taken(size):
                held += size
                assert held < 3 + size
                await asyncio.sleep(0)
                held -= size
            done += 1

        await asyncio.gather(*(hold(*each) for each in asked))
        assert (done, slots.length, slots._held) == (len(asked), 0, {})

    run(test)


def test_a_slot_that_rests_stays_closed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        later = list[Any]()
        work = Work(FairSlots(count=1, each=1, rest=3))
        for name in ("a1", "b1"):
            await work.start(name)
        with monkeypatch.context() as patched:
            patched.setattr(asyncio.get_running_loop(), "call_later", lambda _, *call: later.append(call))
            await work.end("a1")
        assert work.begun == ["a1"]
        ((free, *given),) = later
        free(*given)
        await work.settle()
        assert work.begun == ["a1", "b1"]
        await work.end("b1")

    run(test)


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

    def slow(tagger: Tagger, requests: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        batches.append(sum(each.document.text == "Tax law" for each in requests))
        begun.set()
        assert goes_on.wait(LONGEST)
        return predict(tagger, requests)

    async def test() -> None:
        monkeypatch.setattr(served_model, "predict", slow)
        model = ServedModel("bees", word_tagger(), "Bees")
        await model.queue.start()

        async def ask(client: str, texts: list[str]) -> None:
            begin(CurrentRequest(client=client))
            assert current().client == client
            await model.suggest(texts, model.options(k=1))

        many = [asyncio.create_task(ask("a", ["Bees"] * 32)) for _ in range(6)]
        await asyncio.to_thread(begun.wait, LONGEST)
        assert model.waiting == 5 * 32
        with pytest.raises(Busy):
            await ask("a", ["Bees"])  # its share waits already
        other = asyncio.create_task(ask("b", ["Tax law"]))
        while model.waiting == 5 * 32:
            await asyncio.sleep(0.001)
        goes_on.set()
        await asyncio.gather(other, *many)
        assert batches.index(1) <= 2  # behind what was taken before, of at least six
        await model.queue.stop()

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
