"""Give shards to actors, and begin those of a dead actor again.

There is one actor per device, also on nodes that join later, and each actor has one shard at a time. If an actor dies,
the next free actor repeats its shard. A new actor replaces it as soon as a node has room, while the others work on. A
node that loses power is noticed only a minute later. So, at the end, actors without work repeat the shards that are
still unfinished, and the first answer counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tagwright.errors import TagwrightError, one_line_of
from tagwright.scale.local_processes import ATTEMPTS
from tagwright.scale.shards import Shard


class ActorDied(Exception):  # noqa: N818 (it is no error of ours)
    """An actor is dead, or its answer is lost."""


class Actors(Protocol):
    """The interface to run actors. An answer is the future result of an actor."""

    def devices(self) -> int:
        """Number of actors that can work at a time, at least one."""

    def start(self) -> tuple[Any, Any]:
        """Start an actor; return it, and the answer that it has loaded the tagger."""

    def give(self, actor: Any, shard: Shard) -> Any:
        """Let an actor tag a shard, and return its answer."""

    def first(self, answers: Sequence[Any]) -> Any:
        """Wait for the first of these answers."""

    def read(self, answer: Any) -> Any:
        """Return the result of an answer. Raises ActorDied, and the errors of the actor."""

    def discard(self, actor: Any) -> None:
        """Free the resources of an actor that has died or cannot be reached."""


@dataclass(frozen=True)
class _Task:
    """The current task of an actor. shard None: load the tagger. attempt: from 1."""

    actor: Any
    shard: Shard | None = None
    attempt: int = 1


class ActorPool:
    """Actors and their current tasks."""

    def __init__(self, actors: Actors) -> None:
        self._actors = actors
        self._tasks: dict[Any, _Task] = {}
        self._idle: list[Any] = []
        self._open: set[int] = set()  # numbers of shards that are begun and not done
        self._again: list[tuple[Shard, int]] = []

    def tag(self, shards: Iterator[Shard]) -> Iterator[tuple[Shard, Any]]:
        """The shards, each with its answer, in the order in which they are done; no shard is read before it is needed.

        Raises TagwrightError for a shard over which actors die again and again, and what an actor raises.
        """
        while True:
            for _ in range(len(self._tasks) + len(self._idle), self._actors.devices()):
                self._start(attempt=1)
            while self._idle and (following := self._following(shards)):
                self._give(self._idle.pop(), *following)
            if self._idle and not self._open:
                return
            answer = self._actors.first(list(self._tasks))
            task = self._tasks.pop(answer)
            try:
                said = self._actors.read(answer)
            except ActorDied as error:
                self._replace(task, error)
                continue
            self._idle.append(task.actor)
            if task.shard and task.shard.number in self._open:
                self._open.remove(task.shard.number)
                yield task.shard, said

    def _following(self, shards: Iterator[Shard]) -> tuple[Shard, int] | None:
        """Return the next shard and its attempt: one to repeat, a new one, or one that another actor works on."""
        if self._again:
            return self._again.pop()
        if shard := next(shards, None):
            self._open.add(shard.number)
            return shard, 1
        for task in self._tasks.values():
            if task.shard and task.shard.number in self._open and self._at_work(task.shard) == 1:
                return task.shard, task.attempt
        return None

    def _at_work(self, shard: Shard) -> int:
        return sum(task.shard is shard for task in self._tasks.values())

    def _replace(self, task: _Task, error: ActorDied) -> None:
        """Start another actor for one that died; the next free actor repeats its shard."""
        self._actors.discard(task.actor)
        if task.shard is None:
            self._start(_next_attempt("loading the tagger", task, error))
            return
        if task.shard.number in self._open and not self._at_work(task.shard):
            self._again.append((task.shard, _next_attempt(f"shard {task.shard.number}", task, error)))
        self._start(attempt=1)

    def _start(self, attempt: int) -> None:
        """Start an actor. attempt: one more than the actors in a row that died while loading the tagger."""
        actor, answer = self._actors.start()
        self._tasks[answer] = _Task(actor, attempt=attempt)

    def _give(self, actor: Any, shard: Shard, attempt: int) -> None:
        self._tasks[self._actors.give(actor, shard)] = _Task(actor, shard, attempt)


def _next_attempt(what: str, task: _Task, error: ActorDied) -> int:
    if task.attempt < ATTEMPTS:
        return task.attempt + 1
    problem = f"{what}: {ATTEMPTS} actors died ({one_line_of(error, 200)})"
    raise TagwrightError(f"{problem}; start again: what is done stays done")
