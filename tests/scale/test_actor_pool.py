"""Actors that die cost the shard they were at: tried on simulated actors, without Ray."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tagwright.errors import TagwrightError
from tagwright.scale.actor_pool import ActorDied, ActorPool
from tagwright.scale.shards import Shard

DEAD = "the node has died"


@dataclass
class Simulated:
    """Actors that answer in an order drawn by rng. deaths: the answers, counted from 0, that are deaths."""

    rng: random.Random
    room: int
    deaths: set[int] = field(default_factory=set)
    slow: dict[int, int] = field(default_factory=dict)
    "How many answers of others come before an actor tags its first shard."
    known: int = 1
    "How many devices there seem to be, until so many answers are `noticed`; then as many as there is room."
    noticed: int = 0
    lost_room: int = 0
    "How many places go with each actor that dies over a shard, as when its node dies."
    waiting: list[int] = field(default_factory=list)
    "Actors without a place yet."
    loaded: dict[int, int | None] = field(default_factory=dict)
    "Actors that have a place, each with its shard."
    given: list[int] = field(default_factory=list)
    discarded: list[int] = field(default_factory=list)
    answers: int = 0
    started: int = 0

    def devices(self) -> int:
        return self.known if self.answers < self.noticed else self.room

    def start(self) -> tuple[int, tuple[int, int | None]]:
        self.started += 1
        self.waiting.append(self.started)
        return self.started, (self.started, None)

    def give(self, actor: int, shard: Shard) -> tuple[int, int | None]:
        assert self.loaded[actor] is None, "an actor has one shard at a time"
        assert list(self.loaded.values()).count(shard.number) < 2, "a shard is with two actors at most"
        self.loaded[actor] = shard.number
        self.given.append(shard.number)
        return actor, shard.number

    def first(self, answers: Sequence[tuple[int, int | None]]) -> tuple[int, int | None]:
        while self.waiting and len(self.loaded) < self.room:
            self.loaded[self.waiting.pop(0)] = None
        return self.rng.choice([answer for answer in answers if self._is_there(*answer)])

    def read(self, answer: tuple[int, int | None]) -> str:
        actor, shard = answer
        self.answers += 1
        if self.answers - 1 in self.deaths:
            if shard is not None:
                self.room -= self.lost_room
            raise ActorDied(DEAD)
        self.loaded[actor] = None
        return f"shard {shard}"

    def _is_there(self, actor: int, shard: int | None) -> bool:
        return actor in self.loaded and (shard is None or self.answers >= self.slow.get(actor, 0))

    def discard(self, actor: int) -> None:
        self.discarded.append(actor)
        del self.loaded[actor]


def shards(count: int, read: list[int] | None = None) -> Iterator[Shard]:
    for number in range(count):
        if read is not None:
            read.append(number)
        yield Shard(number, Path())


def tagged(actors: Simulated, shard_count: int) -> list[int]:
    found = list(ActorPool(actors).tag(shards(shard_count)))
    assert all(said == f"shard {shard.number}" for shard, said in found)
    return [shard.number for shard, _ in found]


@pytest.mark.parametrize("seed", range(50))
def test_every_shard_comes_out_once_wherever_actors_die(seed: int) -> None:
    rng = random.Random(seed)
    deaths = set(rng.sample(range(40), 2))  # a third one over the same shard would be an error
    actors = Simulated(rng, room=4, deaths=deaths)
    assert sorted(tagged(actors, 40)) == list(range(40))
    assert len(actors.discarded) == 2
    assert actors.started == 4 + 2


@pytest.mark.parametrize("seed", range(20))
def test_nobody_waits_for_an_actor_that_is_never_heard_of_again(seed: int) -> None:
    actors = Simulated(random.Random(seed), room=3, slow={2: 10**9})
    assert sorted(tagged(actors, 12)) == list(range(12))
    assert max(actors.given.count(number) for number in range(12)) == 2


@pytest.mark.parametrize("seed", range(20))
def test_of_two_answers_the_first_counts(seed: int) -> None:
    actors = Simulated(random.Random(seed), room=3, slow={2: 9})
    assert sorted(tagged(actors, 12)) == list(range(12))


@pytest.mark.parametrize("seed", range(20))
def test_one_of_two_actors_at_a_shard_may_die(seed: int) -> None:
    actors = Simulated(random.Random(seed), room=2, slow={1: 3}, deaths={3})  # both load, the other tags, one dies
    assert sorted(tagged(actors, 2)) == [0, 1]


def test_the_shard_of_a_dead_actor_is_the_next_to_be_given() -> None:
    actors = Simulated(random.Random(0), room=1, deaths={2})  # answers: loaded, shard 0, shard 1
    assert tagged(actors, 4) == [0, 1, 2, 3]
    assert actors.given == [0, 1, 1, 2, 3]


def test_the_node_that_is_left_does_the_rest_while_the_other_actor_finds_no_room() -> None:
    actors = Simulated(random.Random(1), room=2, deaths={5}, lost_room=1)
    assert sorted(tagged(actors, 20)) == list(range(20))
    assert actors.waiting == [3], "the third actor waits for room to the end"


def test_a_node_that_comes_later_works_too() -> None:
    actors = Simulated(random.Random(5), room=3, known=1, noticed=4)
    assert sorted(tagged(actors, 20)) == list(range(20))
    assert actors.started == 3


def test_no_more_shards_are_read_than_actors_work_on() -> None:
    read: list[int] = []
    pool = ActorPool(Simulated(random.Random(2), room=3))
    for done, _ in enumerate(pool.tag(shards(20, read)), start=1):
        assert len(read) <= done + 2


def test_no_actor_is_given_work_before_it_has_loaded_the_tagger() -> None:
    actors = Simulated(random.Random(3), room=1, known=4, noticed=10**9)
    assert sorted(tagged(actors, 6)) == list(range(6))
    assert actors.waiting == [2, 3, 4]


def test_a_shard_over_which_actors_die_again_and_again_is_an_error() -> None:
    actors = Simulated(random.Random(0), room=1, deaths={1, 3, 5})  # each actor loads the tagger, then dies
    with pytest.raises(TagwrightError, match=r"^shard 0: 3 actors died \(the node has died\); start again"):
        tagged(actors, 4)


def test_a_tagger_over_which_actors_die_again_and_again_is_an_error() -> None:
    actors = Simulated(random.Random(0), room=1, deaths={0, 1, 2})
    with pytest.raises(TagwrightError, match=r"^loading the tagger: 3 actors died \(the node has died\)"):
        tagged(actors, 4)


def test_actors_that_die_now_and_then_while_they_load_are_no_error() -> None:
    actors = Simulated(random.Random(0), room=1, deaths={0, 1, 3, 4, 5})  # loaded at 2, dead at 3, loaded at 6
    assert tagged(actors, 2) == [0, 1]
