"""Turns of clients: documents are computed in batches with those of others, and no client has more than its share.

Who is a client: see `CurrentRequest`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from tagwright.server.current_request import get_current_request
from tagwright.server.problems import busy

P = ParamSpec("P")
T = TypeVar("T")

Waiting: TypeAlias = tuple[Any, asyncio.Future[Any]]
"A request, and where its answer is awaited."


def per_client(count: int) -> Callable[[], asyncio.Semaphore]:
    """Return a function that returns the limiter of the client of this request. count: how many pass it at a time."""
    limiters = WeakValueDictionary[str, asyncio.Semaphore]()
    return lambda: limiters.setdefault(get_current_request().client, asyncio.Semaphore(count))


_threads = per_client(2)


async def in_thread(function: Callable[P, T], *given: P.args, **options: P.kwargs) -> T:
    """Compute in a thread, so that others are answered meanwhile. A client has two threads at a time."""
    async with _threads():
        return await asyncio.to_thread(function, *given, **options)


class Batches:
    """Compute requests in batches: what comes while one is computed is the next, so that they grow with the load.

    compute: requests -> one answer each, called in a thread. largest: requests of a batch, and of one client among
    those that are computed or computed next. at_once: batches computed at a time. wait: seconds that the first request
    waits for others, unless the last batch was a single one. most: requests of one client; more are refused.

    A batch that fails is computed again request by request, so that only the requests that cause the error fail.
    """

    def __init__(
        self, compute: Callable[[Sequence[Any]], Sequence[Any]], largest: int = 32, at_once: int = 1,
        wait: float = 0.003, most: int = 192,
    ) -> None:  # fmt: skip
        self.compute, self.largest, self.at_once, self.wait, self.most = compute, largest, at_once, wait, most
        self.asked, self._may_queue = Counter[str](), per_client(largest)

    async def start(self) -> None:
        """Begin to answer, in the event loop that runs now."""
        self._queue = asyncio.Queue[Waiting]()
        self._workers = [asyncio.create_task(self._work()) for _ in range(self.at_once)]

    async def stop(self) -> None:
        """Answer all waiting requests, then stop."""
        await self._queue.join()
        for worker in self._workers:
            worker.cancel()

    def check_room(self, size: int = 1) -> None:
        """Raise Problem (503) unless the client of this request may send so many."""
        if self.asked[get_current_request().client] + size > self.most:
            raise busy()

    async def all(self, requests: Sequence[Any]) -> list[Any]:
        """Return the answers to requests that are needed together.

        Raises Problem (503), and the error of `compute` for one of them.
        """
        self.check_room(len(requests))
        client = get_current_request().client
        self.asked[client] += len(requests)
        answers = [asyncio.create_task(self._one(request)) for request in requests]
        try:
            return await asyncio.gather(*answers)
        finally:
            for answer in answers:
                answer.cancel()  # drop the others when one has failed or nobody waits any more
            self.asked[client] -= len(requests)
            self.asked += Counter()  # forgets clients without requests

    async def _one(self, request: Any) -> Any:
        async with self._may_queue():
            answer = asyncio.get_running_loop().create_future()
            self._queue.put_nowait((request, answer))
            return await answer

    async def _work(self) -> None:
        size = 1
        while True:
            batch = [await self._queue.get()]
            if size > 1:
                await asyncio.sleep(self.wait)
            while len(batch) < self.largest and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            size = len(batch)
            await self._answer([waiting for waiting in batch if not waiting[1].done()])  # a client may have left
            for _ in batch:
                self._queue.task_done()

    async def _answer(self, batch: Sequence[Waiting]) -> None:
        if not batch:
            return
        try:
            answers = await asyncio.to_thread(self.compute, [request for request, _ in batch])
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)
        except Exception as error:
            if len(batch) > 1:
                for waiting in batch:
                    await self._answer([waiting])
            elif not batch[0][1].done():
                batch[0][1].set_exception(error)
