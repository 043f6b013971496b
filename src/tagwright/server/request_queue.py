"""Collect requests into batches. How many may wait, and for how long, is limited before, by `shares.FairSlots`."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Batch: TypeAlias = list[tuple[Any, asyncio.Future[Any]]]
"Requests, and where their answers are awaited."


@dataclass
class RequestQueue:
    """Collect requests into a batch while the one before is computed: batches grow with the load.

    compute: batch -> one answer per request, called in a thread. largest: maximum batch size. wait: seconds that the
    first request of a batch waits for others, unless the last batch was a single request. at_once: maximum number of
    batches computed at a time. A second batch begins only when it is full: larger batches take less time per request.

    A batch that fails is computed again request by request, so that only the requests that cause the error fail. If
    `compute` returns another number of answers, nobody knows whose they are: each request of the batch fails at once.
    """

    compute: Callable[[Sequence[Any]], Sequence[Any]]
    largest: int = 32
    wait: float = 0.003
    at_once: int = 1
    _requests: asyncio.Queue[tuple[Any, asyncio.Future[Any]]] = field(init=False)
    _changed: asyncio.Event = field(init=False)
    _worker: asyncio.Task[None] | None = field(default=None, init=False)
    _batches: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _last_size: int = field(default=1, init=False)

    async def start(self) -> None:
        """Begin to answer, in the event loop that runs now."""
        self._requests, self._changed = asyncio.Queue(), asyncio.Event()
        self._worker = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Answer all waiting requests, then stop."""
        await self._requests.join()
        if self._worker is not None:
            self._worker.cancel()

    @property
    def length(self) -> int:
        """Number of waiting requests."""
        return self._requests.qsize()

    async def all(self, requests: Sequence[Any]) -> list[Any]:
        """Return the answers to requests that are needed together. Raises the error of `compute` for one of them."""
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[Any]] = [loop.create_future() for _ in requests]
        for each in zip(requests, answers, strict=True):
            self._requests.put_nowait(each)
        self._changed.set()
        try:
            return await asyncio.gather(*answers)
        finally:
            for answer in answers:
                answer.cancel()  # drop the other requests when one has failed or nobody waits any more

    async def _work(self) -> None:
        while True:
            while self._batches and not (len(self._batches) < self.at_once and self.length >= self.largest):
                self._changed.clear()
                await self._changed.wait()
            batch = asyncio.create_task(self._finish(await self._collected()))
            self._batches.add(batch)
            batch.add_done_callback(self._ended)

    async def _collected(self) -> Batch:
        """The next batch: requests that wait, and those that come within `wait`."""
        batch = [await self._requests.get()]
        if self._last_size > 1 and self.length < self.largest - 1:
            await asyncio.sleep(self.wait)
        while len(batch) < self.largest and not self._requests.empty():
            batch.append(self._requests.get_nowait())
        self._last_size = len(batch)
        return batch

    def _ended(self, batch: asyncio.Task[None]) -> None:
        self._batches.discard(batch)
        self._changed.set()

    async def _finish(self, batch: Batch) -> None:
        try:
            if wanted := [each for each in batch if not each[1].done()]:  # a client that has left needs no answer
                await self._answer(wanted)
        finally:
            for _ in batch:
                self._requests.task_done()

    async def _answer(self, batch: Batch) -> None:
        answers: list[Any] = []
        try:
            answers = await asyncio.to_thread(self._computed, [request for request, _ in batch])
            failed: Exception | None = None
        except Exception as error:
            failed = error
            if len(batch) > 1:
                for each in batch:
                    await self._answer([each])
        if not failed and len(answers) != len(batch):
            failed = RuntimeError(f"{len(answers)} answers to {len(batch)} requests")
        for place, (_, future) in enumerate(batch):
            if not future.done():
                if failed:
                    future.set_exception(failed)
                else:
                    future.set_result(answers[place])

    def _computed(self, requests: Sequence[Any]) -> list[Any]:
        try:
            return list(self.compute(requests))
        except StopIteration as error:  # no future holds it: whoever awaits the answer would wait for ever
            raise RuntimeError("an iterator ended too early") from error
