"""Batch the pairs of a source: without validation pairs, prepared ahead by a thread or by processes."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from tagwright.errors import ConfigError, TagwrightError, setting
from tagwright.types import Pair, PairSource

T = TypeVar("T")

MOST_VALIDATION_PAIRS = 1024
"The most validation pairs: enough for an accurate loss, and few enough to be measured often."


SamplerState: TypeAlias = tuple[int, int]
"The next batch: its epoch, and how many batches of this epoch are done."


@dataclass(frozen=True)
class Batches:
    """The batches of a pair source, all of `size` pairs; the incomplete last batch of an epoch is dropped.

    validation: the share of groups kept for validation, in no batch; a group is never split. The same seed gives the
    same batches.
    """

    pairs: PairSource
    size: int
    validation: float = 0.0
    seed: int = 0

    def __call__(self, state: SamplerState = (0, 0)) -> Iterator[tuple[SamplerState, list[Pair]]]:
        """Batches without end from `state` on, each with the state after it.

        Raises ConfigError when an epoch has too few pairs for one batch.
        """
        epoch, done = state
        while True:
            number = 0
            for number, batch in enumerate(self._epoch(epoch), 1):
                if number > done:
                    yield (epoch, number), batch
            if not number:
                there = sum(1 for _ in self._trained(epoch))
                lower = f"lower it: {setting('batch', str(there), table='training')}"
                remedy = lower if there >= 2 else "give more documents"
                raise ConfigError(f"a batch is {self.size} pairs, more than the {there} of an epoch; {remedy}")
            epoch, done = epoch + 1, 0

    def count(self) -> int:
        """Number of batches in the first epoch."""
        return sum(1 for _ in self._trained(0)) // self.size

    def has(self, count: int) -> bool:
        """Whether the first epoch has at least this many batches; draws no more pairs than necessary."""
        return next(islice(self._trained(0), count * self.size - 1, None), None) is not None

    def validation_pairs(self) -> list[Pair]:
        """Validation pairs of the first epoch, at most MOST_VALIDATION_PAIRS."""
        if not self.validation:
            return []
        kept = (pair for pair in self.pairs(0) if is_validation(pair.group, self.validation, self.seed))
        return list(islice(kept, MOST_VALIDATION_PAIRS))

    def _trained(self, epoch: int) -> Iterator[Pair]:
        return (pair for pair in self.pairs(epoch) if not is_validation(pair.group, self.validation, self.seed))

    def _epoch(self, epoch: int) -> Iterator[list[Pair]]:
        pairs = self._trained(epoch)
        while len(batch := list(islice(pairs, self.size))) == self.size:
            yield batch


def is_validation(group: int, share: float, seed: int) -> bool:
    """Whether a group is in this share of all groups, which depends on the seed.

    A group lies at its multiple of the golden ratio, here 0.618:

    >>> is_validation(1, 0.61, seed=0), is_validation(1, 0.62, seed=0)
    (False, True)
    """
    # Multiplying by the golden ratio spreads any groups evenly over 64 bits, hashes as well as small numbers.
    return ((group + seed) * 0x9E3779B97F4A7C15) % 2**64 < share * 2**64


@contextmanager
def prepare_items(make: Callable[[int, int], Iterable[T]], workers: int) -> Iterator[Iterator[T]]:
    """Yield an iterator over items that `workers` processes prepare ahead, or a thread of this one if they are 0.

    make: called with the number of a worker and how many there are, gives every so many-th item, from its number on.
    The items and their order do not depend on the number of workers. The processes are forked: what they work with
    need not be sent to them, and where a system cannot fork, a thread does their work.
    """
    if not workers or not hasattr(os, "fork"):
        with prefetch_items(make(0, 1)) as items:
            yield items
        return
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Share(IterableDataset[T | TagwrightError]):
        def __iter__(self) -> Iterator[T | TagwrightError]:
            os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads are not in a forked process
            worker = get_worker_info()
            assert worker is not None
            try:
                yield from make(worker.id, worker.num_workers)
            except TagwrightError as error:  # in one line; the loader would put a traceback into it
                yield error

    unchanged: Callable[[Any], Any] = lambda item: item  # noqa: E731
    # Four items each: a source that shuffles gives none for a while, and then many.
    options: Any = {"num_workers": workers, "prefetch_factor": 4, "multiprocessing_context": "fork"}
    loader = DataLoader(Share(), None, collate_fn=unchanged, **options)
    with closing(_unless_error(loader)) as items:
        yield items


def _unless_error(items: Iterable[T | TagwrightError]) -> Generator[T]:
    for item in items:
        if isinstance(item, TagwrightError):
            raise item
        yield item


@contextmanager
def prefetch_items(items: Iterable[T]) -> Iterator[Iterator[T]]:
    """Yield an iterator over `items` that prefetches up to three of them in another thread."""
    source = iter(items)
    with ThreadPoolExecutor(1) as thread:

        def take() -> Future[list[T]]:
            return thread.submit(copy_context().run, lambda: list(islice(source, 1)))

        def taken() -> Iterator[T]:
            waiting = deque(take() for _ in range(3))
            while item := waiting.popleft().result():
                waiting.append(take())
                yield item[0]

        try:
            yield taken()
        finally:
            thread.shutdown(cancel_futures=True)
