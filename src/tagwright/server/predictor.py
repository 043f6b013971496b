"""Compute the answers to batches of requests, in this process or in others.

Other processes load a copy of the tagger from a folder; its arrays are memory-mapped, so that they are in memory once.
"""

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tagwright.core.atomic import delete
from tagwright.core.progress import silence
from tagwright.core.workers import Pool, Worker
from tagwright.tagger import Suggestion, Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, Run

ATTEMPTS = 2
"Number of attempts at a batch whose processes die, before an error is raised."


class SuggestRequest(NamedTuple):
    """One document, and which suggestions it should get.

    options: how many and which. evidence: whether to say why. suggested: suggestions that are there already, and only
    lack their evidence. served: conditions of the served model, which the labels fulfil too.
    """

    document: Document
    options: SuggestOptions = SuggestOptions()
    evidence: bool = False
    suggested: tuple[Suggestion, ...] | None = None
    served: SuggestOptions = SuggestOptions()


@dataclass(frozen=True, eq=False)
class Predictor:
    """A tagger that answers requests."""

    tagger: Tagger

    def __call__(self, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        """Suggestions for each request; those without evidence are computed together."""
        with silence():
            rows = iter(self._together([each for each in wanted if _is_plain(each)]))
            return [next(rows) if _is_plain(each) else self._with_evidence(each) for each in wanted]

    def _together(self, wanted: Sequence[SuggestRequest]) -> Iterable[list[Suggestion]]:
        if not wanted:
            return []
        ranking = self.tagger.rank(self.tagger.candidates([each.document for each in wanted]))
        return [self._cut(each, ranking.take([row])) for row, each in enumerate(wanted)]

    def _with_evidence(self, wanted: SuggestRequest) -> list[Suggestion]:
        pool = self.tagger.candidates([wanted.document])
        suggested = self._cut(wanted, self.tagger.rank(pool)) if wanted.suggested is None else wanted.suggested
        return next(self.tagger.explained(pool, [suggested]))

    def _cut(self, wanted: SuggestRequest, ranking: Run) -> list[Suggestion]:
        kept = self.tagger.cut([wanted.document], ranking, wanted.options, wanted.served)
        return next(self.tagger.named(kept))


class Predictions:
    """Answers in a process of its own, with a tagger that it loads from a folder."""

    def __init__(self) -> None:
        self._loaded: tuple[Path, Predictor] | None = None

    def answer(self, copy: Path, wanted: list[SuggestRequest]) -> list[list[Suggestion]]:
        """What `Predictor` answers with the tagger in a folder."""
        if self._loaded is None or self._loaded[0] != copy:
            self._loaded = copy, Predictor(Tagger.load(copy))
        return self._loaded[1](wanted)


class Workers:
    """Processes that answer, each with a copy of the tagger, whose memory-mapped arrays they share.

    count: how many. A process that dies is replaced, and its batch is begun once more.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._folder = TemporaryDirectory(prefix="tagwright-served-")
        self._numbers = iter(range(1 << 60))
        self._pool = Pool(lambda: Worker(Predictions), count, ATTEMPTS)

    def use(self, tagger: Tagger) -> Callable[[Sequence[SuggestRequest]], list[list[Suggestion]]]:
        """Return what `Predictor` answers with this tagger, by an idle process; its copy goes when nothing asks it.

        Raises TagwrightError where it cannot be saved.
        """
        copy = Path(self._folder.name) / str(next(self._numbers))
        tagger.save(copy)
        answer = partial(self._answer, copy)
        weakref.finalize(answer, delete, copy)
        return answer

    def _answer(self, copy: Path, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        """Raises TagwrightError where the processes fail."""
        answers: list[list[Suggestion]] = self._pool.ask("answer", copy=copy, wanted=list(wanted))
        return answers

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
        self._folder.cleanup()


def _is_plain(wanted: SuggestRequest) -> bool:
    return not wanted.evidence and wanted.suggested is None
