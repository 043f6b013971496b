"""A served tagger: suggestions for many requests at once, and a swap without a pause."""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tagwright.combining.acceptance import SuggestOptions
from tagwright.data.in_memory import to_documents
from tagwright.errors import ConfigError
from tagwright.server.label_search import LabelSearch, kept_index
from tagwright.server.predictor import Predictor, SuggestRequest, Workers
from tagwright.server.problems import bad_request
from tagwright.server.request_queue import RequestQueue
from tagwright.tagger import Suggestion, Tagger
from tagwright.tagger.cut import allowed_by
from tagwright.types import Document


@dataclass
class ServedModel:
    """A tagger under the name by which clients ask for it.

    id: without blanks, part of addresses; language: code of the labels' names; learns: whether decisions are accepted;
    modified: when the tagger was saved or last trained, if it was. settings: its conditions hold for all suggestions.
    """

    id: str
    tagger: Tagger
    name: str
    language: str = "en"
    learns: bool = False
    modified: datetime | None = None
    settings: SuggestOptions = field(default_factory=SuggestOptions)
    queue: RequestQueue[SuggestRequest, list[Suggestion]] = field(init=False)
    workers: Workers | None = field(default=None, init=False)
    _predictor: Predictor = field(init=False)
    _search: LabelSearch | None = field(default=None, init=False)
    _indexing: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.tagger.check(self.settings)
        self._predictor, self.queue = Predictor(self.tagger), RequestQueue(self._answer)

    @property
    def version(self) -> str:
        """The id of the tagger and its date, for the log of decisions."""
        return self.id if self.modified is None else f"{self.id} {self.modified.isoformat(timespec='seconds')}"

    @property
    def languages(self) -> list[str]:
        """The codes of the languages in which labels can be named; that of their preferred names comes first.

        The first call may take a second for a million labels.
        """
        return list(dict.fromkeys([self.language, *self.tagger.vocabulary.languages]))

    def has_language(self, language: str) -> bool:
        """Whether labels can be named in a language, given by its code, or in a variant of it (en-gb for en)."""
        return any(_main(code) == _main(language) for code in self.languages)

    def named_in(self, language: str, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """The suggestions with names in a language; without a language, or a name in it, with preferred names."""
        vocabulary = self.tagger.vocabulary
        if not language:
            return list(suggested)
        return [replace(each, name=vocabulary[vocabulary.index[each.id]].name_in(language)) for each in suggested]

    async def suggest(self, texts: Sequence[str], options: SuggestOptions) -> list[list[Suggestion]]:
        """Suggestions for texts, best first; none for an empty one. Raises Problem as `suggest_all` does."""
        return await self.suggest_all([SuggestRequest(document, options) for document in to_documents(texts)])

    async def suggest_for(self, wanted: SuggestRequest) -> list[Suggestion]:
        """Suggest labels for a document with conditions."""
        (found,) = await self.suggest_all([wanted])
        return found

    async def suggest_all(self, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        """Suggest labels for several documents, which are accepted or refused together; none for an empty one.

        Raises Busy when too many requests wait, Problem for options that the tagger cannot follow.
        """
        try:
            await asyncio.to_thread(self._check, {each.options for each in wanted})
        except ConfigError as error:
            raise bad_request(str(error)) from None
        given = [each._replace(served=self.settings) for each in wanted if each.document.text.strip()]
        found = iter(await self.queue.all(given))
        return [next(found) if each.document.text.strip() else [] for each in wanted]

    def _check(self, given: Iterable[SuggestOptions]) -> None:
        for options in given:
            self.tagger.check(options)

    async def explain(self, document: Document, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """Return the same suggestions for a document with their evidence. Raises Busy."""
        return await self.queue(SuggestRequest(document, suggested=tuple(suggested))) if suggested else []

    def search(self) -> LabelSearch:
        """Return the search in the labels that may be suggested.

        The first call builds the index, which takes long for many labels.
        """
        with self._indexing:
            if self._search is None:
                self._search = kept_index(self.tagger.vocabulary)
                self._search.allowed = allowed_by(self.tagger.vocabulary, self.settings)
            return self._search

    def use_workers(self, workers: Workers) -> None:
        """Let these processes answer, and not this one. Raises TagwrightError where the tagger cannot be saved."""
        workers.use(self.tagger)
        self.workers, self.queue.at_once = workers, workers.count

    def swap(self, tagger: Tagger, modified: datetime) -> None:
        """Answer with another tagger over the same labels from the next batch on. Raises what `use_workers` raises."""
        if self.workers:
            self.workers.use(tagger)
        self.tagger, self.modified, self._predictor = tagger, modified, Predictor(tagger)

    def _answer(self, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        return (self.workers or self._predictor)(wanted)


def _main(language: str) -> str:
    """The code of a language without that of its variant."""
    return language.partition("-")[0]


def suggest_options(**given: Any) -> SuggestOptions:
    """The options of a request. Raises Problem for a value that cannot be."""
    try:
        return SuggestOptions(**given)
    except ConfigError as error:
        raise bad_request(str(error)) from None
