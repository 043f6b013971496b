"""Compute the answers to batches of requests, in this process or in others.

Other processes load a copy of the tagger from a folder; its arrays are memory-mapped, so that they are in memory once.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from tagwright.combining.acceptance import SuggestOptions
from tagwright.core.progress import silence
from tagwright.core.workers import Pool, Worker
from tagwright.tagger import Suggestion, Tagger
from tagwright.types import Document

PARTS = 8
"Restricted taggers that are kept for the next request with the same labels."

ATTEMPTS = 2
"Number of attempts at a batch whose processes die, before an error is raised."


class SuggestRequest(NamedTuple):
    """One document, and which suggestions it should get.

    options: how many and which. within: ids of the only labels that may be suggested, None for all; excluded: those
    that may not be; evidence: whether to say why. suggested: suggestions that are there already, and only lack their
    evidence.
    """

    document: Document
    options: SuggestOptions = SuggestOptions()
    within: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()
    evidence: bool = False
    suggested: tuple[Suggestion, ...] | None = None


@dataclass
class Predictor:
    """A tagger, and recently requested taggers for parts of its vocabulary."""

    tagger: Tagger
    _parts: dict[frozenset[str], Tagger] = field(default_factory=dict)

    def __call__(self, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        """Suggestions for each request; plain ones are computed together."""
        with silence():
            rows = iter(_together(self.tagger, [each for each in wanted if _is_plain(each)]))
            return [next(rows) if _is_plain(each) else self._suggest_one(each) for each in wanted]

    def _suggest_one(self, wanted: SuggestRequest) -> list[Suggestion]:
        """Answer one request. Remove excluded labels before the cut, so that enough labels are left."""
        tagger, documents = self.tagger if wanted.within is None else self._part(wanted.within), [wanted.document]
        pool = tagger.candidates(documents)
        if wanted.suggested is not None:
            return next(tagger.explained(pool, [wanted.suggested]))
        ranking = tagger.rank(pool)
        excluded = [tagger.vocabulary.index[id_] for id_ in wanted.excluded if id_ in tagger.vocabulary.index]
        ranking = ranking.keep(~np.isin(ranking.labels, excluded))
        found = tagger.named(tagger.cut(documents, ranking, wanted.options))
        return next(tagger.explained(pool, found) if wanted.evidence else found)

    def _part(self, ids: frozenset[str]) -> Tagger:
        """The tagger over these labels alone."""
        if ids not in self._parts:
            if len(self._parts) >= PARTS:
                del self._parts[next(iter(self._parts))]
            self._parts[ids] = self.tagger.restrict(ids)
        return self._parts[ids]


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
        self._copies = list[Path]()
        self._pool = Pool(lambda: Worker(Predictions), count, ATTEMPTS)

    def use(self, tagger: Tagger) -> None:
        """Answer with this tagger from the next batch on. Raises TagwrightError where it cannot be saved."""
        copy = Path(self._folder.name) / str(next(self._numbers))
        tagger.save(copy)
        self._copies.append(copy)
        for old in self._copies[:-2]:  # a batch that is under way may still load the last one
            shutil.rmtree(old, ignore_errors=True)
        del self._copies[:-2]

    def __call__(self, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        """What `Predictor` answers, by an idle process. Raises TagwrightError where it fails."""
        found: list[list[Suggestion]] = self._pool.ask("answer", copy=self._copies[-1], wanted=list(wanted))
        return found

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
        self._folder.cleanup()


def _is_plain(wanted: SuggestRequest) -> bool:
    return wanted.within is None and not wanted.excluded and not wanted.evidence and wanted.suggested is None


def _together(tagger: Tagger, wanted: Sequence[SuggestRequest]) -> Iterable[list[Suggestion]]:
    if not wanted:
        return []
    documents = [each.document for each in wanted]
    ranking = tagger.rank(tagger.candidates(documents))
    cuts = (tagger.cut([each.document], ranking.take([row]), each.options) for row, each in enumerate(wanted))
    return [next(tagger.named(cut)) for cut in cuts]
