"""Limit how many requests and documents a token may send in a minute."""

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tagwright.server.current_request import Limited
from tagwright.server.problems import Problem

SECONDS = 60.0


@dataclass
class _Sent:
    """What was sent in the last minute: when and how many, and how many in all."""

    times: deque[tuple[float, int]] = field(default_factory=deque)
    total: int = 0


class Limits:
    """Counts what was sent with each token, so that no 60 seconds hold more than its limit. refused: by what it was."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused = Counter[Limited]()
        self._clock, self._lock = clock, threading.Lock()
        self._sent: dict[tuple[str, Limited], _Sent] = {}

    def spend(self, token: str, what: Limited, most: int, count: int = 1) -> None:
        """Count what comes now. Raises Problem, and counts nothing, where that would be more than `most` in a minute.

        It is 429, which says when to come again, or 413 if one request holds more than that.
        """
        with self._lock:
            now, sent = self._clock(), self._sent.setdefault((token, what), _Sent())
            while sent.times and sent.times[0][0] <= now - SECONDS:
                sent.total -= sent.times.popleft()[1]
            excess = sent.total + count - most
            if excess <= 0:
                sent.times.append((now, count))
                sent.total += count
                return
            self.refused[what] += 1
            if count > most:
                raise Problem(413, f"The request holds {count} {what}; with this token, {most} a minute are accepted")
            wait = math.ceil(_room_at(sent.times, excess) + SECONDS - now)
        detail = f"With this token, {most} {what} a minute are accepted; try again in {wait} s"
        raise Problem(429, detail, headers={"Retry-After": str(wait)})


def _room_at(times: deque[tuple[float, int]], excess: int) -> float:
    """The time at which those were sent after whose minute there is room."""
    for time_, count in times:
        excess -= count
        if excess <= 0:
            return time_
    raise AssertionError("there is room in an empty minute")
