"""Share slots of work, and memory for the bodies of requests, among clients, see `CurrentRequest.client`.

What the slots are for is left to those who make them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tagwright.server.current_request import current
from tagwright.server.languages import Text
from tagwright.server.problems import Busy, later

FREE = 65_536
"Bytes of each request that are not counted, so that short ones are read while long ones fill the memory."


@dataclass(eq=False)
class FairSlots:
    """Slots that clients wait for: a free one goes to the client that holds the fewest, and of these to the first.

    count: slots held at a time; each: by one client. A request that takes several slots at once may exceed both, as it
    could otherwise wait for ever. waiting: slots that may be waited for; share: by one client. rest: how long a slot is
    closed after it was held, as a multiple of that time: with 3, its work takes a quarter of the time.
    """

    count: int
    each: int
    waiting: int = 1 << 30
    share: int = 1 << 30
    rest: float = 0.0
    _held: Counter[str] = field(default_factory=Counter)
    _queue: list[tuple[str, int, asyncio.Future[None]]] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Number of slots that clients wait for."""
        return sum(size for _, size, _ in self._queue)

    def check_room(self, size: int = 1) -> None:
        """Raise Busy unless the client of this request may wait for so many slots."""
        own = sum(each for client, each, _ in self._queue if client == current().client)
        if self.length + size > self.waiting or own + size > self.share:
            raise Busy

    @asynccontextmanager
    async def taken(self, size: int = 1) -> AsyncIterator[None]:
        """Hold slots inside this block, for the client of the current request. Raises Busy."""
        self.check_room(size)
        loop = asyncio.get_running_loop()
        entry = client, _, turn = current().client, size, loop.create_future()
        self._queue.append(entry)
        self._give()
        try:
            await turn
            begun = loop.time()
            yield
        finally:
            if not turn.done() or turn.cancelled():
                self._queue.remove(entry)
            elif self.rest:
                loop.call_later(self.rest * (loop.time() - begun), self._free, client, size)
            else:
                self._free(client, size)

    def _free(self, client: str, size: int) -> None:
        self._held[client] -= size
        self._held += Counter()  # forgets clients that hold nothing
        self._give()

    def _give(self) -> None:
        while self._held.total() < self.count:
            eligible = [each for each in self._queue if self._held[each[0]] < self.each and not each[2].done()]
            if not eligible:
                return
            client, size, turn = entry = min(eligible, key=lambda each: self._held[each[0]])
            self._queue.remove(entry)
            self._held[client] += size
            turn.set_result(None)


@dataclass(eq=False)
class Memory:
    """Bytes of bodies that are held until their requests are answered. most: of all clients; each: of one client."""

    most: int = 256_000_000
    each: int = 64_000_000
    _held: Counter[str] = field(default_factory=Counter)

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
            raise later(429, Text(form, size=f"{self._held[client]:,}", most=f"{self.each:,}", seconds=1))
        if self.held + size > self.most:
            form = "All requests hold %(size)s bytes already, at most %(most)s are accepted; try again in %(seconds)s s"
            raise later(503, Text(form, size=f"{self.held:,}", most=f"{self.most:,}", seconds=1))
        self._held[client] += size

    def give_back(self, client: str, size: int) -> None:
        """Free the bytes of a request that has been answered."""
        self._held[client] -= size
        self._held += Counter()
