from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.training.launching import start

from tagwright.errors import ConfigError
from tagwright.training.batching import MOST_VALIDATION_PAIRS, Batches, is_validation, prefetch_items, prepare_items
from tagwright.types import Pair


def numbered(count: int, pairs_in_group: int = 1) -> Batches:
    def pairs(epoch: int) -> Iterator[Pair]:
        for i in np.random.default_rng(epoch).permutation(count).tolist():
            yield Pair(f"{epoch}-{i}", "x" * (i % 17), i // pairs_in_group)

    return Batches(pairs, size=4)


def with_options(batches: Batches, **options: object) -> Batches:
    return Batches(**{**batches.__dict__, **options})


@given(count=st.integers(4, 60), validation=st.sampled_from([0.0, 0.3]), seed=st.integers(0, 9))
def test_an_epoch_has_every_pair_once_but_for_the_held_out_and_less_than_a_batch(
    count: int, validation: float, seed: int
) -> None:
    batches = with_options(numbered(count), validation=validation, seed=seed)
    whole = batches.count()
    if not whole:
        with pytest.raises(ConfigError, match="a batch is 4 pairs, more than"):
            next(batches())
        return
    epoch = [pair for state, batch in islice(batches(), whole) for pair in batch]
    free = {pair for pair in batches.pairs(0) if not is_validation(pair.group, validation, seed)}
    assert len(epoch) == len(set(epoch)) == 4 * whole > len(free) - 4
    assert set(epoch) <= free
    state, _ = next(islice(batches(), whole, None))
    assert state == (1, 1)


@given(taken=st.integers(0, 20))
def test_batches_go_on_from_a_place_as_if_there_had_been_no_stop(taken: int) -> None:
    batches = numbered(30)
    straight = list(islice(batches(), 25))
    state = straight[taken - 1][0] if taken else (0, 0)
    assert list(islice(batches(state), 25 - taken)) == straight[taken:]


def test_a_group_is_held_out_as_a_whole_in_every_epoch_and_about_as_often_as_asked() -> None:
    batches = with_options(numbered(30_000, pairs_in_group=3), validation=0.1)
    groups = [{pair.group for pair in batches.pairs(epoch) if is_validation(pair.group, 0.1, 0)} for epoch in (0, 1)]
    assert groups[0] == groups[1]
    assert 900 < len(groups[0]) < 1100
    assert len(batches.validation_pairs()) == MOST_VALIDATION_PAIRS
    other = with_options(batches, seed=1)
    assert {pair.group for pair in other.validation_pairs()} != {pair.group for pair in batches.validation_pairs()}


def test_items_are_taken_ahead_in_another_thread_in_their_order() -> None:
    threads = set()

    def items() -> Iterator[int]:
        for i in range(50):
            threads.add(threading.get_ident())
            yield i
        raise ConfigError("no more")

    with prefetch_items(items()) as taken:
        assert [next(taken) for _ in range(50)] == list(range(50))
        with pytest.raises(ConfigError, match="no more"):  # when its item is asked for
            next(taken)
    assert threading.get_ident() not in threads
    assert len(threads) == 1


@pytest.mark.parametrize(
    ("pairs", "message"), [(3, "a batch is 4 pairs, more than the 3 of an epoch; lower it: batch=3"), (1, "give more")]
)
def test_a_batch_that_is_not_filled_is_refused_with_one_that_is(pairs: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        next(numbered(pairs)())


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def prepare_in_order() -> None:
    """What a process of its own does: one that has run a thousand other tests has too many threads to fork safely."""
    batches, processes = numbered(30), set[int]()

    def make(worker: int, count: int) -> Iterator[tuple[object, int]]:
        yield from ((batch, os.getpid()) for batch in islice(batches(), worker, 25, count))
        raise ConfigError("no more")

    with prepare_items(make, 4) as items:
        for expected in islice(batches(), 25):
            batch, process = next(items)
            assert batch == expected
            processes.add(process)
        with pytest.raises(ConfigError, match=r"^no more$"):
            next(items)
    assert len(processes) == 4
    assert os.getpid() not in processes


def test_processes_prepare_the_same_batches_in_the_same_order() -> None:
    pytest.importorskip("torch")
    process = start(prepare_in_order)
    process.join()
    assert process.exitcode == 0
