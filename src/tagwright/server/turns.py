"""Turns of clients: whose work is done next, and how much of it is done, held or waited for at a time.

What a route computes, it computes in `asyncio.to_thread`: `Turns` are the threads of that. Documents wait for the model
in `Batches`. Both ask which client has had least. `Memory` counts the bytes of bodies, and what a request alone may
hold, such as a file, it holds until its answer is sent. Who is a client: see `CurrentRequest`.
"""

import asyncio
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Send

from tagwright.server.current_request import get_current_request
from tagwright.server.languages import Text
from tagwright.server.problems import Busy, ask_later

T = TypeVar("T")

FREE = 65_536
"Bytes of each body, and of each piece of an answer, that are not counted."

UNREAD = 32_000_000
"Bytes of answers that a client may leave unread: while there are more, nothing is computed for it."

SHARE, BURST, MOST = 0.25, 0.1, 0.5
"Part of a processor that a client has while others compute; by how many seconds it may exceed that; and what counts."

WAITING = 16
"Requests of a client that may wait to be alone."


class Line(Generic[T]):
    """A line in which clients wait."""

    def __init__(self) -> None:
        self._waiting = dict[str, deque[T]]()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def count(self, client: str) -> int:
        """Return how many items of a client wait."""
        return len(self._waiting.get(client, ()))

    def add(self, item: T) -> None:
        """Let an item of the client of this request wait."""
        self._waiting.setdefault(get_current_request().client, deque()).append(item)

    def next(self, had: Callable[[str], float]) -> str:
        """Return the client that has had least, of these the one that waits longest."""
        return min(self._waiting, key=had)

    def take(self, client: str) -> T:
        """Return the first item of a client; the next one waits behind those of clients that have had as much."""
        items = self._waiting.pop(client)
        item = items.popleft()
        if items:
            self._waiting[client] = items
        return item


class Turns(ThreadPoolExecutor):
    """The threads in which a server computes for its clients.

    A client has at most `each` of them, and none while it leaves `UNREAD` bytes. A free one goes to the client that has
    computed least lately; who has had its `SHARE` waits while others compute. The server's own work waits for nobody.
    """

    def __init__(self, count: int = 16, each: int = 2) -> None:
        super().__init__(count, "turn")
        self.each, self.unread, self._running = each, Counter[str](), Counter[str]()
        self._line, self._changed, self._is_ending = Line[Callable[[], None]](), threading.Condition(), False
        self._had = dict[str, tuple[float, float]]()  # client -> seconds beyond its share, and when these were noted
        self._some_read = asyncio.Event()
        self._locks, self._asking = WeakValueDictionary[str, asyncio.Lock](), Counter[str]()

    def submit(self, function: Callable[..., T], /, *args: Any, **options: Any) -> Future[T]:
        """Let a function run when it is the turn of the client of this request."""
        future = Future[T]()

        def step() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*args, **options))
                except BaseException as error:
                    future.set_exception(error)

        with self._changed:
            self._line.add(step)
            self._changed.notify()
        super().submit(self._take_turn)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish what waits, whoever it is of, and end the threads."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        super().shutdown(wait, cancel_futures=cancel_futures)

    async def alone(self, request: Request) -> None:
        """Wait until no other request of this client is behind this, and let none until this request is answered.

        Raises Busy if too many wait, and ClientDisconnect if the client has left meanwhile.
        """
        own = get_current_request()
        lock = self._locks.setdefault(own.client, asyncio.Lock())
        if own.is_alone:
            return
        if self._asking[own.client] >= WAITING:
            raise Busy
        self._asking[own.client] += 1
        try:
            await lock.acquire()
        finally:
            self._asking[own.client] -= 1
        own.is_alone = True
        own.held.callback(lock.release)
        if await request.is_disconnected():
            raise ClientDisconnect

    async def may_begin(self) -> None:
        """Wait while the client of this request leaves too much unread."""
        while self.unread[get_current_request().client] > UNREAD:
            await self._some_read.wait()

    def counted(self, send: Send) -> Send:
        """Send answers in pieces, as fast as the client reads them, and count their bytes until then."""

        async def sending(message: Message) -> None:
            body, more, client = message.get("body", b""), message.get("more_body", False), get_current_request().client
            self.unread[client] += len(body)
            try:
                for start in range(0, max(1, len(body)), FREE):
                    goes_on = more or start + FREE < len(body)
                    part = {"body": body[start : start + FREE], "more_body": goes_on} if body else {}
                    await send({**message, **part})
            finally:
                self.unread[client] -= len(body)
                self.unread += Counter()  # forgets clients that have read all
                self._some_read.set()
                self._some_read = asyncio.Event()

        return sending

    def _take_turn(self) -> None:
        with self._changed:
            while not self._may_run(client := self._line.next(self._rank)):
                self._changed.wait(BURST / 4)
            step = self._line.take(client)
            self._running[client] += 1
        begun = time.thread_time()
        step()
        with self._changed:
            self._note(client, time.thread_time() - begun)
            self._running[client] -= 1
            self._running += Counter()
            self._changed.notify()

    def _may_run(self, client: str) -> bool:
        rank = self._rank(client)
        return self._is_ending or rank <= BURST or (rank < sys.maxsize and not self._running)

    def _rank(self, client: str) -> float:
        if client and (self._running[client] >= self.each or self.unread[client] > UNREAD):
            return sys.maxsize
        return self._beyond(client)

    def _beyond(self, client: str) -> float:
        """The seconds that a client has computed beyond its share."""
        seconds, noted = self._had.get(client, (0.0, 0.0))
        return max(0.0, seconds - SHARE * (time.monotonic() - noted))

    def _note(self, client: str, seconds: float) -> None:
        """Note what a client has computed, in seconds of the processor: those in which it waits do not count."""
        if client:  # the server's own work is of none
            self._had[client] = min(self._beyond(client) + seconds, MOST), time.monotonic()
        if len(self._had) > 1000:
            self._had = {each: had for each, had in self._had.items() if self._beyond(each)}


Batch: TypeAlias = list[tuple[str, Any, asyncio.Future[Any]]]
"Clients with their requests, and where the answers are awaited."


class Batches:
    """Compute requests in batches: what comes while one is computed is the next, so that they grow with the load.

    compute: requests -> one answer each, called in a thread. largest: requests of a batch. at_once: batches computed at
    a time; a second one begins only when it is full: larger batches take less time per request. wait: seconds that the
    first request waits for others, unless the last batch was a single one. waiting, share: requests that may wait, of
    all clients and of one, besides those that are computed and the next batch.

    A batch that fails is computed again request by request, so that only the requests that cause the error fail. If
    `compute` returns another number of answers, nobody knows whose they are: each request of the batch fails at once.
    """

    def __init__(
        self, compute: Callable[[Sequence[Any]], Sequence[Any]], largest: int = 32, at_once: int = 1,
        wait: float = 0.003, waiting: int = 192, share: int = 128,
    ) -> None:  # fmt: skip
        self.compute, self.largest, self.at_once, self.wait = compute, largest, at_once, wait
        self.waiting, self.share, self.line = waiting, share, Line[tuple[Any, asyncio.Future[Any]]]()
        self._had, self._last_size, self._is_ending = Counter[str](), 1, False
        self._batches = set[asyncio.Task[None]]()

    async def start(self) -> None:
        """Begin to answer, in the event loop that runs now."""
        self._changed, self._is_ending = asyncio.Event(), False
        self._worker = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Answer all waiting requests, then stop."""
        self._is_ending = True
        self._changed.set()
        await self._worker

    async def all(self, requests: Sequence[Any]) -> list[Any]:
        """Return the answers to requests that are needed together.

        Raises Busy, and the error of `compute` for one of them.
        """
        self.check_room(len(requests))
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[Any]] = [loop.create_future() for _ in requests]
        for waiting in zip(requests, answers, strict=True):
            self.line.add(waiting)
        self._changed.set()
        try:
            return await asyncio.gather(*answers)
        finally:
            for answer in answers:
                answer.cancel()  # drop the other requests when one has failed or nobody waits any more

    def check_room(self, size: int = 1) -> None:
        """Raise Busy unless the client of this request may send so many."""
        client, rest = get_current_request().client, (1 + self.at_once) * self.largest - size
        is_full = len(self.line) + self._had.total() > self.waiting + rest
        if is_full or self.line.count(client) + self._had[client] > self.share + rest:
            raise Busy

    async def _work(self) -> None:
        while self.line or self._batches or not self._is_ending:
            if self.line and (not self._batches or self._may_begin_beside()):
                batch = asyncio.create_task(self._finish(await self._collected()))
                self._batches.add(batch)
            else:
                self._changed.clear()
                await self._changed.wait()

    def _may_begin_beside(self) -> bool:
        return len(self._batches) < self.at_once and len(self.line) >= self.largest

    async def _collected(self) -> Batch:
        """The next batch: requests that wait, and those that come within `wait`, clients in turn."""
        if self._last_size > 1 and len(self.line) < self.largest:
            await asyncio.sleep(self.wait)
        batch = Batch()
        while len(batch) < self.largest and self.line:
            client = self.line.next(self._had.__getitem__)
            batch.append((client, *self.line.take(client)))
            self._had[client] += 1
        self._last_size = len(batch)
        return batch

    async def _finish(self, batch: Batch) -> None:
        try:
            # a client that has left needs no answer
            await self._answer([(request, answer) for _, request, answer in batch if not answer.done()])
        finally:
            self._had.subtract(client for client, *_ in batch)
            self._had += Counter()
            self._batches.discard(asyncio.current_task())
            self._changed.set()

    async def _answer(self, batch: Sequence[tuple[Any, asyncio.Future[Any]]]) -> None:
        answers: list[Any] = []
        failed: Exception | None = None
        try:
            answers = await asyncio.to_thread(self._computed, [request for request, _ in batch]) if batch else []
        except Exception as error:
            failed = error
            if len(batch) > 1:
                for waiting in batch:
                    await self._answer([waiting])
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


class Memory:
    """Bytes of bodies that are held until their requests are answered. most: of all clients; each: of one client."""

    def __init__(self, most: int = 256_000_000, each: int = 64_000_000) -> None:
        self.most, self.each, self._held = most, each, Counter[str]()

    @property
    def held(self) -> int:
        """Bytes that are held now."""
        return self._held.total()

    def take(self, client: str, size: int) -> None:
        """Count bytes for a client. Raises Problem if too many are held, by the client (429) or by all (503)."""
        if self._held[client] + size > self.each:
            form = (
                "Your requests hold %(size)s bytes already, at most %(most)s are accepted; try again in %(seconds)s s"
            )
            raise ask_later(429, Text(form, size=f"{self._held[client]:,}", most=f"{self.each:,}", seconds=1))
        if self.held + size > self.most:
            form = "All requests hold %(size)s bytes already, at most %(most)s are accepted; try again in %(seconds)s s"
            raise ask_later(503, Text(form, size=f"{self.held:,}", most=f"{self.most:,}", seconds=1))
        self._held[client] += size

    def give_back(self, client: str, size: int) -> None:
        """Free the bytes of a request that has been answered."""
        self._held[client] -= size
        self._held += Counter()
