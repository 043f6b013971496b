from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from tagwright.server.turns import Batches

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."


def run(queue: Batches, use: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await queue.start()
        await use()
        await queue.stop()

    asyncio.run(main())


async def ask(queue: Batches, request: int) -> Any:
    (answer,) = await queue.all([request])
    return answer


async def until(condition: Callable[[], object]) -> None:
    """Let the others work until it holds."""
    while not condition():
        await asyncio.sleep(0.001)


def test_requests_that_come_together_are_computed_together() -> None:
    batches: list[list[int]] = []

    def compute(batch: Sequence[int]) -> list[int]:
        batches.append(list(batch))
        return [10 * each for each in batch]

    queue = Batches(compute, largest=3, wait=0.2)

    async def use() -> None:
        assert await asyncio.gather(*(ask(queue, each) for each in range(5))) == [0, 10, 20, 30, 40]

    run(queue, use)
    assert batches == [[0, 1, 2], [3, 4]]


def test_requests_that_come_one_after_the_other_wait_for_nobody() -> None:
    queue = Batches(list, wait=100 * LONGEST)

    async def use() -> None:
        for each in range(3):
            assert await asyncio.wait_for(ask(queue, each), LONGEST) == each

    run(queue, use)


def test_after_requests_that_came_together_the_next_waits_for_others() -> None:
    batches: list[list[int]] = []

    def compute(batch: Sequence[int]) -> list[int]:
        batches.append(list(batch))
        return list(batch)

    queue = Batches(compute, wait=0.5)

    async def use() -> None:
        await asyncio.gather(*(ask(queue, each) for each in range(2)))
        first = asyncio.create_task(ask(queue, 2))
        await until(lambda: len(queue.line) == 0 and len(batches) == 1)
        await asyncio.gather(first, ask(queue, 3))

    run(queue, use)
    assert batches == [[0, 1], [2, 3]]


def test_only_the_request_that_fails_is_refused() -> None:
    def compute(batch: Sequence[int]) -> list[int]:
        return [12 // each for each in batch]

    queue = Batches(compute, wait=0.2)

    async def use() -> None:
        answers = await asyncio.gather(*(ask(queue, each) for each in [1, 0, 3]), return_exceptions=True)
        assert [answers[0], type(answers[1]), answers[2]] == [12, ZeroDivisionError, 4]

    run(queue, use)


def held() -> tuple[threading.Event, threading.Event, list[int], Callable[[Sequence[int]], list[int]]]:
    """Whether work has begun, what sets it free, what has been computed, and the work."""
    begun, free, computed = threading.Event(), threading.Event(), list[int]()

    def compute(batch: Sequence[int]) -> list[int]:
        begun.set()
        free.wait(LONGEST)
        computed.extend(batch)
        return list(batch)

    return begun, free, computed, compute


def test_what_nobody_waits_for_any_more_is_not_computed() -> None:
    begun, free, computed, compute = held()
    queue = Batches(compute, largest=1, wait=0)

    async def use() -> None:
        under_way = asyncio.create_task(ask(queue, 0))
        await until(begun.is_set)
        waiting = asyncio.create_task(queue.all([1, 2]))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        free.set()
        assert [await under_way, await ask(queue, 5)] == [0, 5]

    run(queue, use)
    assert computed == [0, 5]


def test_full_batches_are_computed_side_by_side() -> None:
    both = threading.Barrier(2)  # passed only by two at a time

    def compute(batch: Sequence[int]) -> list[int]:
        both.wait(LONGEST)
        return list(batch)

    queue = Batches(compute, largest=2, wait=0.2, at_once=2)

    async def use() -> None:
        assert await asyncio.gather(*(ask(queue, each) for each in range(4))) == [0, 1, 2, 3]

    run(queue, use)


def test_a_batch_that_is_not_full_waits_for_the_one_before() -> None:
    free, batches = threading.Event(), list[list[int]]()

    def compute(batch: Sequence[int]) -> list[int]:
        batches.append(list(batch))
        free.wait(LONGEST)
        return list(batch)

    queue = Batches(compute, largest=3, wait=0, at_once=2)

    async def use() -> None:
        answers = [asyncio.create_task(ask(queue, 0))]
        await until(lambda: batches)  # it is computed now
        for number in (1, 2):
            answers.append(asyncio.create_task(ask(queue, number)))
            await asyncio.sleep(0.1)
        assert batches == [[0]]
        free.set()
        assert await asyncio.gather(*answers) == [0, 1, 2]
        assert batches == [[0], [1, 2]]

    run(queue, use)


@pytest.mark.parametrize("answers", [[], [1], [1, 2, 3, 4]])
def test_a_wrong_number_of_answers_is_an_error_of_each_request_and_stop_ends(answers: list[int]) -> None:
    calls: list[int] = []

    def compute(batch: Sequence[int]) -> list[int]:
        calls.append(len(batch))
        return answers

    queue = Batches(compute, wait=0.2)

    async def use() -> None:
        found = await asyncio.gather(*(ask(queue, each) for each in range(3)), return_exceptions=True)
        assert [str(each) for each in found] == [f"{len(answers)} answers to 3 requests"] * 3
        await asyncio.wait_for(queue.stop(), LONGEST)

    run(queue, use)
    assert calls == [3]


def test_an_iterator_that_ends_too_early_is_an_error_and_nobody_waits_for_it() -> None:
    queue = Batches(lambda _: next(iter(())))

    async def use() -> None:
        with pytest.raises(RuntimeError, match="ended too early"):
            await ask(queue, 1)

    run(queue, use)
