"""Train the served model on the decisions of reviewers: each training makes a version, and none replaces another.

A training learns how far to trust each stage of the tagger. The stages themselves stay as they are, since a tagger does
not hold the documents that they were trained on. Every training begins with the tagger as it was before any review.

The new version is compared with the one in use on the documents that were reviewed blind, which it has not learned
from. It is in use at once if it is clearly better; if not, it waits in its folder until somebody puts it in use.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

from tagwright.api.job import Job
from tagwright.auto import Config
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.steps import before_last
from tagwright.core.atomic import ChangedError
from tagwright.core.steps import digest
from tagwright.core.versions import Versions
from tagwright.data.corpus import text_groups
from tagwright.errors import TagwrightError
from tagwright.models import Models, Version
from tagwright.models.record import BLIND, measured_blind
from tagwright.readers.documents.catalogue import relabel_document
from tagwright.review.blind import FEWEST, measured_gain
from tagwright.server.languages import Text
from tagwright.server.review.review import Review, TrainingData
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.types import Run

BATCH_SIZE = 50
"Documents that clients have to send before a training begins by itself."

_log = logging.getLogger(__name__)

Refit: TypeAlias = Callable[[Tagger, TrainingData], Tagger]
"""Return a tagger trained on reviewed documents, as `refit_combiner` does.

Its record `training["combined"]["nDCG@5"]` has the values "before" and "after", cross-validated."""

REVIEWS = "reviews"
"The entry of a training record with the number of reviewed documents that a combiner was learned from."


class Trained(NamedTuple):
    """A version that was trained on decisions, as its record says.

    version: its number. date: when it was added, as YYYY-MM-DD HH:MM UTC. reviews: reviewed documents that it learned
    from. before, after: nDCG@5 without and with them, cross-validated. blind: how many documents had been "decided" on,
    how many "documents" were reviewed blind and, of enough, nDCG@5 of the version "besides" ("before") and of this one
    ("after"), and the "difference" with its interval ("value", "low", "high"); from 0 to 1, as before and after are.
    gain: the interval of the gain on new documents; None of a version that was trained before 0.11.
    """

    version: str
    date: str
    reviews: int
    before: float
    after: float
    blind: Mapping[str, Any]
    gain: Mapping[str, float] | None = None

    @classmethod
    def of(cls, version: Version) -> Self | None:
        """Read the record of a version; None for one that was trained otherwise, or whose record cannot be read."""
        try:
            record = version.record
            combined = record["trainings"][0]["combined"]
            date, blind = datetime.fromisoformat(record["added"]), measured_blind(record)
            before, after = (combined["nDCG@5"][name] for name in ("before", "after"))
            added, gain = f"{date:%Y-%m-%d %H:%M} UTC", combined.get("gain")
            return cls(version.name, added, blind["reviews"], before, after, blind, gain)
        except (TagwrightError, LookupError, TypeError, ValueError):
            return None

    def sentences(self, folder: str) -> tuple[Text, ...]:
        """Describe what was trained, its scores, and their bias. folder: the name of that of the versions."""
        form = "Version %(version)s of %(folder)s: trained on %(count)s documents, %(date)s."
        made = Text(form, version=self.version, folder=folder, count=f"{self.reviews:,}", date=self.date)
        form = (
            "On the documents that it was trained on, nDCG@5 is %(before)s without the decisions and %(after)s with "
            "them (cross-validated). These figures are too good: reviewers accept what they are shown."
        )
        flattered = Text(form, before=_percent(self.before), after=_percent(self.after))
        return (made, *self._measured(), flattered, *self._expected())

    def _expected(self) -> tuple[Text, ...]:
        if self.gain is None:
            return ()
        form = (
            "On new documents like these, the decisions bring from %(low)s to %(high)s points (95%% interval) by these "
            "figures."
        )
        return (Text(form, **{end: f"{100 * self.gain[end]:+.1f}" for end in ("low", "high")}),)

    def _measured(self) -> tuple[Text, ...]:
        count = f"{self.blind['documents']:,}"
        if not (difference := self.blind.get("difference")):
            form = "Too few decisions to say whether it is better: %(count)s documents reviewed blind, of %(fewest)s."
            return (Text(form, count=count, fewest=FEWEST),)
        form = (
            "On %(count)s documents reviewed blind, nDCG@5 is %(after)s, and %(before)s with version %(besides)s: "
            "%(difference)s points, with a 95%% interval from %(low)s to %(high)s."
        )
        values = {name: f"{100 * difference[part]:+.1f}" for name, part in
                  (("difference", "value"), ("low", "low"), ("high", "high"))}  # fmt: skip
        scores = {name: _percent(self.blind[name]) for name in ("before", "after")}
        measured = Text(form, count=count, besides=self.blind["besides"], **scores, **values)
        if difference["low"] > 0:
            return measured, Text("A clear gain.")
        return measured, Text("Clearly worse.") if difference["high"] < 0 else Text("No clear gain.")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def refit_combiner(tagger: Tagger, data: TrainingData) -> Tagger:
    """Return a tagger that has learned how to combine its stages, on top of a learned combiner if it has one.

    Labels never shown to a reviewer are no examples. Raises ConfigError for fewer than two documents with labels, and
    for a combiner of another package.
    """
    labelled = [relabel_document(document, ids) for document, ids in zip(data.documents, data.labels, strict=True)]
    index = tagger.vocabulary.index
    judged = Run.from_rows([{index[id_] for id_ in ids if id_ in index} for ids in data.judged])
    job = Job(method="auto", config=Config(), documents=labelled, model=tagger, judged=judged, unknown="ignore")
    trained = job.run()
    if trained.steps is tagger.steps:  # nothing was learned
        return trained
    combined = {**trained.training["combined"], REVIEWS: sum(map(bool, data.labels))}
    return replace(trained, training={**trained.training, "combined": combined})


def without_reviews(tagger: Tagger) -> Tagger:
    """Return the tagger as it was before `refit_combiner`; itself, if it was not trained by that."""
    if REVIEWS not in tagger.training.get("combined", {}):
        return tagger
    # without a learned combiner, only confidences were learned, which the next training replaces
    steps = before_last(tagger.steps, LearnedCombiner)
    return replace(tagger, steps=steps, training=tagger.training.get("before", {}))


def _digest(data: TrainingData) -> str:
    """A digest of all decisions."""
    rows = zip(data.documents, data.labels, map(sorted, data.judged), data.blind, strict=True)
    return digest((document.id, *learned) for document, *learned in rows if any(learned))


@dataclass
class Refitter:
    """Train in the background, one training at a time, always from the tagger as it was before any review.

    folder: that of the versions; it is made at the first training, and then begins with the served tagger. problem: why
    the last training made no version.
    """

    review: Review
    refit: Refit
    folder: Path
    problem: Text | None = None
    _base: Tagger = field(init=False)
    "The served tagger without reviews: where the next training begins."
    _served: Tagger | None = field(default=None, init=False)
    "The served tagger that `_base` was made of, or that the last training made of it."
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    @property
    def is_running(self) -> bool:
        """Whether a training is under way."""
        return self._task is not None and not self._task.done()

    @property
    def last(self) -> Trained | None:
        """The newest version that was trained on decisions, by this server or an earlier one."""
        newest_first = reversed(list(Models(self.folder)))
        return next((trained for version in newest_first if (trained := Trained.of(version))), None)

    def outcome(self, last: Trained | None) -> tuple[Text, ...]:
        """Describe the last training for the page, a text for each sentence. last: the newest version, see there."""
        if self.problem:
            return (self.problem,)
        return last.sentences(self.folder.name) if last and not self.is_running else ()

    def start(self) -> bool:
        """Begin a training; False if one is under way."""
        if self.is_running:
            return False
        self.problem = None
        self._task = asyncio.create_task(self._run(), context=Context())  # it is no client's
        return True

    async def start_if_due(self) -> bool:
        """Begin a training if clients have sent enough: a version for each document would fill the disk."""
        last = await asyncio.to_thread(lambda: self.last)
        known = len(await asyncio.to_thread(self.review.decisions.labels))
        return known >= BATCH_SIZE + (last.blind["decided"] if last else 0) and self.start()

    async def finish(self) -> None:
        """Wait for the training that is under way."""
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        try:
            data = await asyncio.to_thread(self.review.training_data)
            await asyncio.to_thread(self._train, data)
        except TagwrightError as error:
            _log.warning("the decisions make no version: %s", error)
            self.problem = Text("The tagger was not trained: %(reason)s", reason=error)
        except Exception:
            _log.exception("the training on decisions failed")
            self.problem = Text("The tagger was not trained: internal error; see the server's log.")

    def _train(self, data: TrainingData) -> None:
        """Make a version, and use it if it is clearly better on the documents that were reviewed blind."""
        model, models = self.review.model.snapshot(), Models(self.folder)
        if model.tagger is not self._served:  # the first training, or another version was put in use
            self._served, self._base = model.tagger, without_reviews(model.tagger)
        trained = self.refit(self._base, data)
        if model.history == self.folder:
            number = model.number
        else:  # the way back
            number = models.add(model.tagger, after="".join(Versions(self.folder).used[-1:])).name
            self.review.model.keep_versions(self.folder, number)
        decided = len(self.review.decisions.labels())
        blind: dict[str, Any] = {"reviews": sum(map(bool, data.labels)), "decided": decided}
        blind |= self._measured(trained, model, data, number)
        combined = {**trained.training["combined"], BLIND: blind}
        record = {**trained.training, "combined": combined, "data": {"decisions": _digest(data)}}
        trained, known = replace(trained, training=record), {version.name for version in models}
        added = self._added(models, trained, number if blind.get("difference", {"low": 0})["low"] > 0 else "")
        if added.name in known:
            form = "Nothing is new: version %(version)s has learned from the same decisions."
            self.problem = Text(form, version=added.name)

    def _added(self, models: Models, trained: Tagger, after: str) -> Version:
        """Add the version. after: the one in use, whose place it takes unless another was promoted; "" for none."""
        try:
            added = models.add(trained, after=after)
        except ChangedError as error:
            _log.warning("the trained version waits: %s", error)
            return models.add(trained)
        if after:
            self._served = trained
            self.review.model.swap(trained, datetime.now(UTC), number=added.name, history=self.folder)
        return added

    def _measured(self, trained: Tagger, model: ServedModel, data: TrainingData, number: str) -> Mapping[str, Any]:
        """Compare with the version in use on the documents that were reviewed blind, see `Trained`."""
        index = model.tagger.vocabulary.index
        texts = text_groups(data.documents).tolist()  # what was learned from, or measured on, measures nothing again
        learned = {text for text, *sets in zip(texts, data.labels, data.judged, strict=True) if any(sets)}
        blind = {text: row for row, text in enumerate(texts) if any(id_ in index for id_ in data.blind[row])}
        rows = sorted(row for text, row in blind.items() if text not in learned)
        if len(rows) < FEWEST:
            return {"documents": len(rows)}
        documents, labels = [data.documents[row] for row in rows], [data.blind[row] for row in rows]
        gain = measured_gain(trained, model.tagger, documents, labels)
        scores = {"after": gain.a, "before": gain.b, "difference": gain.difference.to_json()}
        return {"documents": len(rows), "besides": number, **scores}
