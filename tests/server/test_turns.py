"""Documents are computed in batches, and one client cannot hold what others wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import word_tagger

from tagwright.server import request_bodies
from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.current_request import CurrentRequest, begin
from tagwright.server.problems import Problem
from tagwright.server.served_model import ServedModel
from tagwright.server.turns import Batches, in_thread
from tagwright.types import Document

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."


def run(queue: Batches, use: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await queue.start()
        await use()
        await queue.stop()

    asyncio.run(main())


async def ask(queue: Batches, *requests: int, client: str = "a") -> list[Any]:
    begin(CurrentRequest(client=client))
    return await queue.all(requests)


async def until(condition: Callable[[], object]) -> None:
    """Let the others work until it holds."""
    while not condition():
        await asyncio.sleep(0.001)


class Held:
    """Work that waits until it is set free, and notes what it computes."""

    def __init__(self) -> None:
        self.begun, self.free, self.batches = threading.Event(), threading.Event(), list[list[int]]()

    def __call__(self, batch: Sequence[int]) -> list[int]:
        self.batches.append(list(batch))
        self.begun.set()
        assert self.free.wait(LONGEST)
        return list(batch)


@pytest.fixture
def held() -> Held:
    return Held()


def test_requests_that_come_together_are_computed_together(held: Held) -> None:
    queue = Batches(held, largest=3)
    held.free.set()

    async def use() -> None:
        answers = await asyncio.gather(*(ask(queue, each, client=str(each)) for each in range(5)))
        assert answers == [[0], [1], [2], [3], [4]]

    run(queue, use)
    assert held.batches == [[0, 1, 2], [3, 4]]


def test_requests_that_come_one_after_the_other_wait_for_nobody() -> None:
    queue = Batches(list, wait=100 * LONGEST)

    async def use() -> None:
        for each in range(3):
            assert await asyncio.wait_for(ask(queue, each), LONGEST) == [each]

    run(queue, use)


def test_only_the_request_that_fails_is_refused() -> None:
    queue = Batches(lambda batch: [12 // each for each in batch])

    async def use() -> None:
        answers = await asyncio.gather(*(ask(queue, each) for each in [1, 0, 3]), return_exceptions=True)
        assert [answers[0], type(answers[1]), answers[2]] == [[12], ZeroDivisionError, [4]]

    run(queue, use)


def test_a_wrong_number_of_answers_is_an_error_of_each_request() -> None:
    queue = Batches(lambda _: [])

    async def use() -> None:
        found = await asyncio.gather(*(ask(queue, each) for each in range(3)), return_exceptions=True)
        assert [type(each) for each in found] == [ValueError] * 3

    run(queue, use)


def test_what_nobody_waits_for_any_more_is_not_computed(held: Held) -> None:
    queue = Batches(held, largest=1)

    async def use() -> None:
        under_way = asyncio.create_task(ask(queue, 0))
        await until(held.begun.is_set)
        waiting = asyncio.create_task(ask(queue, 1, 2, client="b"))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.sleep(0.01)
        held.free.set()
        assert [await under_way, await ask(queue, 5)] == [[0], [5]]

    run(queue, use)
    assert held.batches == [[0], [5]]


def test_batches_are_computed_side_by_side() -> None:
    both = threading.Barrier(2)  # passed only by two at a time

    def compute(batch: Sequence[int]) -> list[int]:
        both.wait(LONGEST)
        return list(batch)

    queue = Batches(compute, largest=2, at_once=2)

    async def use() -> None:
        assert await asyncio.gather(*(ask(queue, each, client=str(each)) for each in range(4))) == [[0], [1], [2], [3]]

    run(queue, use)


def test_a_client_that_sends_much_waits_behind_others_and_is_refused_more(held: Held) -> None:
    """While a batch is computed, one client sends batch after batch; then another asks for one document."""
    queue = Batches(held, largest=4, most=24)

    async def use() -> None:
        many = [asyncio.create_task(ask(queue, *range(4))) for _ in range(6)]
        await until(held.begun.is_set)
        with pytest.raises(Problem, match="Too many requests are waiting"):
            await ask(queue, 0)
        other = asyncio.create_task(ask(queue, 77, client="b"))
        await asyncio.sleep(0.01)
        held.free.set()
        assert await other == [77]
        await asyncio.gather(*many)
        assert not queue.asked

    run(queue, use)
    assert [77 in batch for batch in held.batches].index(True) == 1
    assert len(held.batches) >= 6


def test_a_client_has_two_threads_and_others_have_theirs_at_once() -> None:
    begun, ends = list[str](), threading.Event()

    def step(name: str) -> None:
        begun.append(name)
        assert ends.wait(LONGEST)

    async def start(client: str) -> None:
        begin(CurrentRequest(client=client))
        await in_thread(step, client)

    async def use() -> None:
        tasks = [asyncio.create_task(start(client)) for client in "aaaab"]
        await until(lambda: "b" in begun)
        assert sorted(begun) == ["a", "a", "b"]
        ends.set()
        await asyncio.gather(*tasks)

    asyncio.run(use())
    assert sorted(begun) == ["a", "a", "a", "a", "b"]


def test_files_of_one_client_keep_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"a": "a" * 16, "b": "b" * 16}
    (tmp_path / "tokens").write_text("".join(f"{secret} suggest {name}\n" for name, secret in secrets.items()))
    ends = {name: threading.Event() for name in ("a1", "a2", "a3", "b1")}
    reading = {name: threading.Event() for name in ends}

    def read(name: str, _: bytes) -> tuple[list[Document], list[str]]:
        reading[name].set()
        assert ends[name].wait(LONGEST)
        return [Document(name, "Bees")], []

    def send(name: str) -> int:
        headers = {"Authorization": f"Bearer {secrets[name[0]]}"}
        return client.post("/api/files", files={"file": (name, b"Bees")}, headers=headers).status_code

    monkeypatch.setattr(request_bodies, "read_upload", read)
    app = application([ServedModel("bees", word_tagger(), "Bees")], access=Access.of(file=tmp_path / "tokens"))
    with TestClient(app) as client, ThreadPoolExecutor() as pool:
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
