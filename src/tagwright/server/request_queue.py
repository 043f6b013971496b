"""Collect requests into batches, and refuse requests that would wait too long."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tagwright.server.problems import Busy

T = TypeVar("T")
R = TypeVar("R")


class _WrongCountError(RuntimeError):
    """The number of answers is not that of the requests."""


@dataclass
class RequestQueue(Generic[T, R]):
    """Collect requests into a batch while the one before is computed: batches grow with the load.

    compute: batch -> one answer per request, in a thread. largest: maximum batch size. wait: seconds that the first
    request of a batch waits for others, unless the last batch was a single request. waiting: maximum number of waiting
    requests; for more, `Busy` is raised at once. seconds: time limit of an answer, after which `Busy` is raised.
    at_once: maximum number of batches computed at a time. A second batch begins only when it is full, because larger
    batches are faster per request.

    A batch that fails is computed again request by request, so that only the requests that cause the error fail. If
    `compute` returns another number of answers, nobody knows whose they are: each request of the batch fails at once.
    """

    compute: Callable[[Sequence[T]], Sequence[R]]
    largest: int = 32
    wait: float = 0.003
    waiting: int = 256
    seconds: float = 60.0
    at_once: int = 1
    _requests: asyncio.Queue[tuple[T, asyncio.Future[R]]] = field(init=False)
    _changed: asyncio.Event = field(init=False)
    _worker: asyncio.Task[None] | None = field(default=None, init=False)
    _batches: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _last: int = field(default=1, init=False)

    async def start(self) -> None:
        """Begin to answer."""
        self._requests, self._changed = asyncio.Queue(self.waiting), asyncio.Event()
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

    def check_room(self, count: int = 1) -> None:
        """Raise Busy unless `count` more requests may wait. Call it before reading a request, to refuse it cheaply."""
        if self.length + count > self.waiting:
            raise Busy

    async def __call__(self, request: T) -> R:
        """Return the answer. Raises Busy, or the error of `compute` for this request alone."""
        (answer,) = await self.all([request])
        return answer

    async def all(self, requests: Sequence[T]) -> list[R]:
        """Return the answers to requests that are needed together: accept all of them, or none."""
        self.check_room(len(requests))
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[R]] = [loop.create_future() for _ in requests]
        for each in zip(requests, answers, strict=True):
            self._requests.put_nowait(each)
        self._changed.set()
        try:
            return await asyncio.wait_for(asyncio.gather(*answers), self.seconds)
        except TimeoutError:
            raise Busy from None
        finally:
            for answer in answers:
                answer.cancel()  # drop the other requests when one has failed or the client has disconnected

    async def _work(self) -> None:
        while True:
            await self._turn()
            batch = asyncio.create_task(self._finish(await self._collected()))
            self._batches.add(batch)
            batch.add_done_callback(self._ended)

    async def _turn(self) -> None:
        """Wait until nothing is computed, or a full batch waits and may be computed beside the others."""
        while self._batches and not (len(self._batches) < self.at_once and self._requests.qsize() >= self.largest):
            self._changed.clear()
            await self._changed.wait()

    def _ended(self, batch: asyncio.Task[None]) -> None:
        self._batches.discard(batch)
        self._changed.set()

    async def _finish(self, batch: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        wanted = [each for each in batch if not each[1].done()]  # a client that has disconnected needs no answer
        try:
            if wanted:
                await self._answer(wanted)
        finally:
            for _ in batch:
                self._requests.task_done()

    async def _collected(self) -> list[tuple[T, asyncio.Future[R]]]:
        """The next batch: what waits, and what comes within a few milliseconds."""
        batch = [await self._requests.get()]
        if self._last > 1 and self.length < self.largest - 1:
            await asyncio.sleep(self.wait)
        while len(batch) < self.largest and not self._requests.empty():
            batch.append(self._requests.get_nowait())
        self._last = len(batch)
        return batch

    async def _answer(self, batch: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            answers = await asyncio.to_thread(self._computed, [request for request, _ in batch])
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, _WrongCountError):
                for each in batch:
                    await self._answer([each])
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)

    def _computed(self, requests: Sequence[T]) -> list[R]:
        try:
            answers = list(self.compute(requests))
        except StopIteration as error:  # no future holds it: whoever awaits the answer would wait for ever
            raise RuntimeError("an iterator ended too early") from error
        if len(answers) != len(requests):
            raise _WrongCountError(f"{len(answers)} answers to {len(requests)} requests")
        return answers
