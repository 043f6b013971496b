"""A served tagger: suggestions for many requests at once, and a swap without a pause."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

from tagwright.combining.confidence import squash_score
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.steps import find_last
from tagwright.data.text_languages import language_subtag
from tagwright.data.texts import to_documents
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, TagwrightError
from tagwright.monitoring import log_suggestions
from tagwright.server.current_request import get_current_request
from tagwright.server.label_search import LabelSearch, kept_index
from tagwright.server.languages import Text
from tagwright.server.predictor import SuggestRequest, Workers, predict
from tagwright.server.problems import Problem, bad_request, busy
from tagwright.server.turns import Batches, in_thread
from tagwright.tagger import Suggestion, Suggestions, Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.tagger.cut import allowed_by
from tagwright.types import Document, Label

_log = logging.getLogger(__name__)

T = TypeVar("T")

LONG = 200_000
"Characters beyond which a text is long: a short novel, which takes a second."

Predict: TypeAlias = Callable[[Sequence[SuggestRequest]], list[Suggestions]]
"Computes the suggestions of one version of a model for a batch of requests."


@dataclass(eq=False)
class ServedModel:
    """A tagger under the name by which clients ask for it.

    A request is answered by one version from its beginning to its end: it calls `for_request` once, and `swap` changes
    what later requests get.

    id: part of addresses, without blanks. name: for people. language: codes of the languages of the labels' names, such
    as "de+en". modified: when the tagger was saved or last trained; None: never. settings: options of the server: its
    conditions (`only`, `without`) hold for all suggestions, its hierarchy and limit per branch for requests without
    their own. number: of the version, such as "2026-11-28", and history: the folder of all versions; "" and None
    without versions. log: where all suggestions are recorded. seconds: time limit of an answer, after which Problem
    (503) is raised. queues: of documents, and of long ones, for which nobody waits who sends others. search,
    saved_names: the index of the labels, and a folder with them for other processes.
    """

    id: str
    tagger: Tagger
    name: str
    language: str = "en"
    modified: datetime | None = None
    settings: SuggestOptions = field(default_factory=SuggestOptions)
    number: str = ""
    history: Path | None = None
    log: Path | None = None
    seconds: float = 60.0
    queues: tuple[Batches, Batches] = field(init=False)
    workers: Workers | None = field(default=None, init=False)
    search: Callable[[], LabelSearch] = field(init=False)
    saved_names: Callable[[], Path] = field(init=False)
    _predict: Predict = field(init=False)
    _predict_long: Callable[[], Predict] = field(init=False)
    _long_workers: Workers = field(init=False)
    _swapping: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.tagger.check(self.settings)
        self._predict = partial(predict, self.tagger)
        self.search = _once(partial(_searched, self.tagger.vocabulary, self.settings))
        self.queues = Batches(_compute_by_version), Batches(_compute_by_version, largest=1)

    async def start(self) -> None:
        """Begin to answer, in the event loop that runs now."""
        self._long_workers = Workers(1, patient=True)
        vars(self).update(self._for_others(self.tagger))
        for queue in self.queues:
            await queue.start()

    async def stop(self) -> None:
        """Answer what waits, then stop."""
        for queue in self.queues:
            await queue.stop()
        for workers in (self.workers, self._long_workers):
            if workers:
                await asyncio.to_thread(workers.close)

    @property
    def version(self) -> str:
        """The id of the tagger and the number or else the date of its version, for replies and the log of decisions."""
        dated = "" if self.modified is None else self.modified.isoformat(timespec="seconds")
        return f"{self.id} {self.number or dated}".rstrip()

    def snapshot(self) -> Self:
        """Return a copy that later swaps do not change."""
        with self._swapping:
            return copy(self)

    def for_request(self) -> Self:
        """Return the version that answers the current request, and note it for the reply and the log."""
        version, request = self.snapshot(), get_current_request()
        request.model, request.version = version.id, version.version
        return version

    @property
    def languages(self) -> list[str]:
        """Codes of the languages in which labels have names, those of preferred names first.

        The first call may take a second for a million labels: make it in a thread.
        """
        return list(dict.fromkeys([*self.language.split("+"), *self.tagger.vocabulary.languages]))

    def has_language(self, language: str) -> bool:
        """Whether labels have names in a language, given by its code, or in a variant of it (en-gb for en)."""
        return any(language_subtag(code) == language_subtag(language) for code in self.languages)

    def named_in(self, language: str, suggestions: Suggestions) -> Suggestions:
        """Return suggestions with the names of their labels in a language, or with preferred names without any."""
        if not language:
            return suggestions
        named = (replace(suggestion, name=self.label(suggestion.id).name_in(language)) for suggestion in suggestions)
        return Suggestions(named, none=suggestions.none)

    def label(self, id_: str) -> Label:
        """Return the label with this id."""
        return self.tagger.vocabulary[self.tagger.vocabulary.index[id_]]

    async def options(self, **requested: Any) -> SuggestOptions:
        """Return the options of a request; for None, those of the settings.

        Raises Problem (400) for invalid values, and for what the tagger cannot follow.
        """
        own = {"hierarchy": self.settings.hierarchy, "per_branch": self.settings.per_branch}
        try:
            options = SuggestOptions(**own | {name: value for name, value in requested.items() if value is not None})
            await in_thread(self.tagger.check, options)
        except ConfigError as error:
            raise bad_request(str(error)) from None
        return options

    async def answer_once(self) -> None:
        """Suggest a label, however long that takes: it loads what the first request would wait for."""
        (document,) = to_documents([self.tagger.vocabulary[0].name])
        await self.queues[0].all([(self._predict, SuggestRequest(document))])

    async def suggest(self, texts: Sequence[str], options: SuggestOptions) -> list[Suggestions]:
        """Suggest labels for texts with the same options, see `suggest_all`."""
        return await self.suggest_all([SuggestRequest(document, options) for document in to_documents(texts)])

    async def suggest_all(self, requests: Sequence[SuggestRequest]) -> list[Suggestions]:
        """Suggest labels for several documents, best first; none for an empty one. All are accepted, or none.

        Raises Problem (503) when too many documents wait. The options of the requests are those of `options`.
        """
        nonempty = [request._replace(served=self.settings) for request in requests if request.document.text.strip()]
        computed = iter(await self._compute(nonempty) if nonempty else ())
        none = 1.0 if find_last(self.tagger.steps, NoneFits) else None
        return [next(computed) if each.document.text.strip() else Suggestions(none=none) for each in requests]

    async def suggest_and_record(self, requests: Sequence[SuggestRequest]) -> list[Suggestions]:
        """Suggest labels as `suggest_all`, count them, and record them in `log`."""
        suggestions = await self.suggest_all(requests)
        get_current_request().count(suggestions)
        if self.log:
            tagged = [row for row, each in zip(suggestions, requests, strict=True) if each.document.text.strip()]
            try:
                await asyncio.to_thread(log_suggestions, self.log, self.version, tagged)
            except TagwrightError as error:  # the reply is sent
                _log.warning("%s", error)
        return suggestions

    async def explain(self, document: Document, suggestions: Suggestions) -> Suggestions:
        """Return these suggestions for a document with their evidence. Raises Problem (503)."""
        request = SuggestRequest(document, suggested=suggestions)
        return (await self._compute([request]))[0] if suggestions else suggestions

    @property
    def waiting(self) -> int:
        """Number of documents that wait to be computed, or are computed now."""
        return sum(queue.asked.total() for queue in self.queues)

    def check_room(self, size: int = 1) -> None:
        """Raise Problem (503) unless the client of this request may send so many documents."""
        self.queues[0].check_room(size)

    async def _compute(self, requests: Sequence[SuggestRequest]) -> list[Suggestions]:
        """Compute in batches with the requests of others; clients take turns. Raises Problem (503)."""
        try:
            async with asyncio.timeout(self.seconds):
                if self.workers or not any(len(request.document.text) > LONG for request in requests):
                    return await self.queues[0].all([(self._predict, request) for request in requests])
                compute = await asyncio.to_thread(self._predict_long)
                return await self.queues[1].all([(compute, request) for request in requests])
        except TimeoutError:
            raise busy() from None

    def _for_others(self, tagger: Tagger) -> dict[str, Any]:
        """What is saved of a tagger for other processes, when it is first needed: that may take seconds."""
        names = _once(lambda: self._long_workers.save(tagger.vocabulary))
        return {"_predict_long": _once(partial(self._apart, tagger)), "saved_names": names}

    def _apart(self, tagger: Tagger) -> Predict:
        """Compute in a process for long texts: a regular expression holds up all other threads until its end.

        A tagger that cannot be saved computes here.
        """
        try:
            return self._long_workers.use(tagger)
        except TagwrightError as error:
            _log.warning("long texts keep others waiting: %s", error)
            return partial(predict, tagger)

    def use_workers(self, workers: Workers) -> None:
        """Compute in these processes. Raises TagwrightError where the tagger cannot be saved for them."""
        self._predict = workers.use(self.tagger)
        self.workers, self.queues[0].at_once = workers, workers.count

    def keep_versions(self, history: Path, number: str) -> None:
        """Say in which folder the versions are from now on, and which of them this one is."""
        with self._swapping:
            self.history, self.number = history, number

    def swap(self, tagger: Tagger, modified: datetime, **others: Any) -> None:
        """Answer later requests with another tagger. others: fields that change with it, such as `number`.

        An index of other labels is built first. Raises TagwrightError where the tagger cannot be saved for workers.
        """
        tagger.check(self.settings)
        answer = self.workers.use(tagger) if self.workers else partial(predict, tagger)
        if tagger.vocabulary is not self.tagger.vocabulary:
            others["search"] = _once(partial(_searched, tagger.vocabulary, self.settings))
            others["search"]()
        with self._swapping:
            vars(self).update(tagger=tagger, modified=modified, _predict=answer, **others, **self._for_others(tagger))


def model_named(name: str | None, models: Mapping[str, ServedModel]) -> ServedModel:
    """Return the version of a model that answers the current request. name: its id; None: the first one.

    Raises Problem (404).
    """
    if name is None:
        return next(iter(models.values())).for_request()
    if name not in models:
        raise Problem(404, Text("There is no tagger '%(model)s'", model=name[:100]))
    return models[name].for_request()


def score_from_0_to_1(suggestion: Suggestion) -> float:
    """Return the confidence of a suggestion; where the tagger estimates none, its score squashed into 0 to 1."""
    return squash_score(suggestion.score) if suggestion.confidence is None else suggestion.confidence


def _once(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function whose first call makes what all calls return. That takes long: for many labels, seconds."""
    made, making = cache(make), threading.Lock()

    def once() -> T:
        with making:
            return made()

    return once


def _searched(vocabulary: Vocabulary, settings: SuggestOptions) -> LabelSearch:
    """The search in the labels that the settings allow."""
    search = kept_index(vocabulary)
    search.allowed = allowed_by(vocabulary, settings)
    return search


def _compute_by_version(batch: Sequence[tuple[Predict, SuggestRequest]]) -> list[Suggestions]:
    """Compute a batch of the queue. After a swap it may hold requests of two versions, each with its own tagger."""
    answers: list[Suggestions] = []
    for _, group in groupby(batch, key=lambda each: id(each[0])):
        computes, requests = zip(*group, strict=True)
        answers += computes[0](requests)
    return answers
