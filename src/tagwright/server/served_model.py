"""A served tagger: suggestions for many requests at once, and a swap without a pause."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Self, TypeAlias

from tagwright.data.in_memory import to_documents
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, TagwrightError
from tagwright.monitoring import Watch
from tagwright.readers.labels.languages import main
from tagwright.server.current_request import current
from tagwright.server.label_search import LabelSearch, kept_index
from tagwright.server.languages import Text
from tagwright.server.predictor import Predictor, SuggestRequest, Workers
from tagwright.server.problems import Busy, Problem, bad_request
from tagwright.server.request_queue import RequestQueue
from tagwright.server.shares import FairSlots
from tagwright.tagger import Suggestion, Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.tagger.cut import allowed_by
from tagwright.types import Document

_log = logging.getLogger(__name__)

Predict: TypeAlias = Callable[[Sequence[SuggestRequest]], list[list[Suggestion]]]
"What one version answers to a batch."


@dataclass
class ServedModel:
    """A tagger under the name by which clients ask for it.

    id: without blanks, part of addresses; language: codes of the labels' names, as "de+en"; learns: whether decisions
    are accepted; modified: when the tagger was saved or last trained, if it was. settings: its conditions hold for all
    suggestions, and how narrow or broad labels are for requests that do not say it. number: of its version, such as
    "0002", and history: the folder of all versions, if there is one.
    watch: records what it suggests, if anything does. seconds: time limit of an answer, after which `Busy` is raised.

    A request is answered by one version: it calls `for_request` once, and `swap` changes what later ones get.
    """

    id: str
    tagger: Tagger
    name: str
    language: str = "en"
    learns: bool = False
    modified: datetime | None = None
    settings: SuggestOptions = field(default_factory=SuggestOptions)
    number: str = ""
    history: Path | None = None
    watch: Watch | None = None
    seconds: float = 60.0
    queue: RequestQueue = field(init=False)
    slots: FairSlots = field(init=False)
    workers: Workers | None = field(default=None, init=False)
    search: "_LazySearch" = field(init=False)
    _predict: Predict = field(init=False)
    _swapping: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.tagger.check(self.settings)
        self._predict, self.queue = Predictor(self.tagger), RequestQueue(_answers)
        full = 2 * self.queue.largest  # one batch is computed, the next one is full
        self.slots = FairSlots(count=full, each=full, waiting=192, share=128)
        self.search = _LazySearch(self.tagger.vocabulary, self.settings)

    @property
    def version(self) -> str:
        """The id of the tagger and the number or else the date of its version, for replies and the log of decisions."""
        dated = "" if self.modified is None else self.modified.isoformat(timespec="seconds")
        return f"{self.id} {self.number or dated}".rstrip()

    def now(self) -> Self:
        """The version that answers now; a later swap does not change it."""
        with self._swapping:
            return copy(self)

    def for_request(self) -> Self:
        """The version that answers the current request; the reply names it."""
        found, request = self.now(), current()
        request.model, request.version = found.id, found.version
        return found

    @property
    def languages(self) -> list[str]:
        """The codes of the languages in which labels can be named; that of their preferred names comes first.

        The first call may take a second for a million labels.
        """
        return list(dict.fromkeys([*self.language.split("+"), *self.tagger.vocabulary.languages]))

    def has_language(self, language: str) -> bool:
        """Whether labels can be named in a language, given by its code, or in a variant of it (en-gb for en)."""
        return any(main(code) == main(language) for code in self.languages)

    def named_in(self, language: str, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """The suggestions with names in a language; without a language, or a name in it, with preferred names."""
        vocabulary = self.tagger.vocabulary
        if not language:
            return list(suggested)
        return [replace(each, name=vocabulary[vocabulary.index[each.id]].name_in(language)) for each in suggested]

    def options(self, **asked: Any) -> SuggestOptions:
        """Return the options of a request; None: as the settings have it. Raises Problem for a value that cannot be."""
        ours = {"hierarchy": self.settings.hierarchy, "per_branch": self.settings.per_branch}
        try:
            return SuggestOptions(**{**ours, **{name: each for name, each in asked.items() if each is not None}})
        except ConfigError as error:
            raise bad_request(str(error)) from None

    async def suggest(self, texts: Sequence[str], options: SuggestOptions) -> list[list[Suggestion]]:
        """Suggestions for texts, best first; none for an empty one. Raises Problem as `suggest_all` does."""
        return await self.suggest_all([SuggestRequest(document, options) for document in to_documents(texts)])

    async def suggest_all(self, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        """Suggest labels for several documents, which are accepted or refused together; none for an empty one.

        Raises Busy when too many requests wait, Problem for options that the tagger cannot follow, and for more
        documents than the token of the current request may send.
        """
        try:
            for options in {each.options for each in wanted}:
                await asyncio.to_thread(self.tagger.check, options)
        except ConfigError as error:
            raise bad_request(str(error)) from None
        nonempty = [each._replace(served=self.settings) for each in wanted if each.document.text.strip()]
        self.slots.check_room(len(nonempty))  # documents that are refused at once do not count
        current().spend("documents", len(wanted))
        computed = iter(await self._computed(nonempty) if nonempty else ())
        return [next(computed) if each.document.text.strip() else [] for each in wanted]

    @property
    def waiting(self) -> int:
        """Number of documents that wait to be computed."""
        return self.slots.length + self.queue.length

    async def _computed(self, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        """Clients take turns, however many requests one of them sends. Raises Busy."""
        try:
            async with asyncio.timeout(self.seconds), self.slots.taken(len(wanted)):
                return await self.queue.all([(self._predict, each) for each in wanted])
        except TimeoutError:
            raise Busy from None

    async def answer(self, wanted: Sequence[SuggestRequest]) -> list[list[Suggestion]]:
        """What `suggest_all` suggests, recorded for the audit and the monitor before it is sent."""
        suggested, documents = await self.suggest_all(wanted), [each.document for each in wanted]
        await current().answered(documents, suggested)
        await self._monitor(documents, suggested)
        return suggested

    async def _monitor(self, documents: Sequence[Document], suggested: Sequence[Sequence[Suggestion]]) -> None:
        """Let the monitor know of suggestions; where its log cannot be written, the server's says so."""
        if self.watch is None:
            return
        tagged = [
            (document, [(each.id, each.confidence) for each in row])
            for document, row in zip(documents, suggested, strict=True)
            if document.text.strip()
        ]
        try:
            await asyncio.to_thread(self.watch.add, self.version, self.tagger.training, tagged)
        except TagwrightError as error:
            _log.warning("%s", error)

    async def explain(self, document: Document, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """Return the same suggestions for a document with their evidence. Raises Busy."""
        wanted = SuggestRequest(document, suggested=tuple(suggested))
        return (await self._computed([wanted]))[0] if suggested else []

    def use_workers(self, workers: Workers) -> None:
        """Let these processes answer, and not this one. Raises TagwrightError where the tagger cannot be saved."""
        self._predict = workers.use(self.tagger)
        self.workers, self.queue.at_once = workers, workers.count
        self.slots.count = self.slots.each = (1 + workers.count) * self.queue.largest

    def swap(self, tagger: Tagger, modified: datetime, **others: Any) -> None:
        """Let another tagger answer the requests that come from now on. others: fields that change with it.

        The search in its labels is made first, if they are others. Raises what `use_workers` raises.
        """
        tagger.check(self.settings)
        predict = self.workers.use(tagger) if self.workers else Predictor(tagger)
        search = self.search
        if tagger.vocabulary is not search.vocabulary:
            search = _LazySearch(tagger.vocabulary, self.settings)
            search()
        with self._swapping:
            vars(self).update(tagger=tagger, modified=modified, search=search, _predict=predict, **others)


def model_named(wanted: str | None, models: Mapping[str, ServedModel]) -> ServedModel:
    """The model with this id, the first one for None, in the version that answers the request. Raises Problem."""
    if wanted is None:
        return next(iter(models.values())).for_request()
    if wanted not in models:
        raise Problem(404, Text("There is no model '%(model)s'", model=wanted[:100]))
    return models[wanted].for_request()


@dataclass(eq=False)
class _LazySearch:
    """The search in the labels that may be suggested; the first call builds the index, which takes long for many."""

    vocabulary: Vocabulary
    settings: SuggestOptions
    _built: LabelSearch | None = None
    _building: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_built(self) -> bool:
        """Whether a search begins at once."""
        return self._built is not None

    def __call__(self) -> LabelSearch:
        with self._building:
            if self._built is None:
                self._built = kept_index(self.vocabulary)
                self._built.allowed = allowed_by(self.vocabulary, self.settings)
            return self._built


def _answers(wanted: Sequence[tuple[Predict, SuggestRequest]]) -> list[list[Suggestion]]:
    """What each version answers to its requests, in their order."""
    versions = groupby(wanted, key=lambda each: id(each[0]))
    batches = ([*batch] for _, batch in versions)
    return [found for batch in batches for found in batch[0][0]([request for _, request in batch])]
