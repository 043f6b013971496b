"""Compute the answers to batches of requests, in this process or in others.

Other processes load a copy of the tagger from a folder; its arrays are memory-mapped, so that they are in memory once.
"""

import itertools
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tagwright.core.atomic import delete
from tagwright.core.progress import silence
from tagwright.core.workers import Pool, Worker, give_way
from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger import Suggestions, Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, Run


class SuggestRequest(NamedTuple):
    """One document, and which suggestions it should get.

    options: how many labels, and which, as the request says it. served: conditions of the served model, which labels
    have to fulfil too. evidence: whether to explain the suggestions. suggested: suggestions that were computed before
    and only lack their evidence; None: compute them.
    """

    document: Document
    options: SuggestOptions = SuggestOptions()
    evidence: bool = False
    suggested: Suggestions | None = None
    served: SuggestOptions = SuggestOptions()

    @property
    def needs_evidence(self) -> bool:
        """Whether the document has to be computed alone, since candidates are kept for the evidence."""
        return self.evidence or self.suggested is not None


def predict(tagger: Tagger, requests: Sequence[SuggestRequest]) -> list[Suggestions]:
    """Return the suggestions of a tagger for each request; requests without evidence are computed in one batch."""

    def cut(request: SuggestRequest, ranking: Run) -> Suggestions:
        return next(tagger.named(tagger.cut([request.document], ranking, request.options, request.served)))

    def explained(request: SuggestRequest) -> Suggestions:
        pool = tagger.candidates([request.document])
        suggested = cut(request, tagger.rank(pool)) if request.suggested is None else request.suggested
        return next(tagger.explained(pool, [suggested]))

    plain = [request for request in requests if not request.needs_evidence]
    with silence():
        ranking = tagger.rank(tagger.candidates([request.document for request in plain])) if plain else None
        rows = iter([cut(request, ranking.take([row])) for row, request in enumerate(plain)] if ranking else ())
        return [explained(request) if request.needs_evidence else next(rows) for request in requests]


class Predictions:
    """The state of a worker process: the tagger of the folder that it was last asked about."""

    def __init__(self) -> None:
        self._loaded: tuple[Path, Tagger] | None = None

    def answer(self, copy: Path, requests: list[SuggestRequest], *, patiently: bool) -> list[Suggestions]:
        """Return the suggestions of the tagger in the folder `copy`. patiently: let other processes go first."""
        if patiently:
            give_way()
        if self._loaded is None or self._loaded[0] != copy:
            self._loaded = copy, Tagger.load(copy)
        return predict(self._loaded[1], requests)


class Workers:
    """Processes that compute suggestions. Each loads a copy of the tagger; they share its memory-mapped arrays.

    count: number of processes. patient: whether they let others go first, as those for long texts do. A process that
    dies is replaced, and its batch is computed again by the new one.
    """

    def __init__(self, count: int, *, patient: bool = False) -> None:
        self.count, self._patient = count, patient
        self._folder = TemporaryDirectory(prefix="tagwright-served-")
        self._numbers = itertools.count()
        self._pool = Pool(partial(Worker, Predictions), count, attempts=2)  # a batch that kills two processes fails

    def use(self, tagger: Tagger) -> Callable[[Sequence[SuggestRequest]], list[Suggestions]]:
        """Return a function that answers as `predict` with this tagger, in an idle process.

        The copy of the tagger is deleted with the function. Raises TagwrightError if the tagger cannot be saved; the
        function raises TagwrightError if the processes fail.
        """
        copy = Path(self._folder.name) / str(next(self._numbers))
        tagger.save(copy)

        def answer(requests: Sequence[SuggestRequest]) -> list[Suggestions]:
            given = {"copy": copy, "requests": list(requests), "patiently": self._patient}
            answers: list[Suggestions] = self._pool.ask("answer", **given)
            return answers

        weakref.finalize(answer, delete, copy)
        return answer

    def save(self, vocabulary: Vocabulary) -> Path:
        """Return a folder with a vocabulary, which is deleted with the copies of taggers at the end."""
        folder = Path(self._folder.name) / str(next(self._numbers))
        folder.mkdir()
        vocabulary.save(folder)
        return folder

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
        self._folder.cleanup()
