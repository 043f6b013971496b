"""Train the served model on the decisions of reviewers: each training makes a model, and none replaces another.

A training learns how far to trust each stage of the tagger. The stages themselves stay as they are, since a tagger does
not hold the documents that they were trained on. Every training begins with the tagger as it was before any review.

The new model is compared with the one in use on the documents that were reviewed blind, which it has not learned
from. It is in use at once if it is clearly better; if not, it waits in its folder until somebody puts it in use.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

from tagwright.api.job import Job
from tagwright.auto import Config
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.steps import before_last
from tagwright.core.atomic import manifest_of
from tagwright.core.steps import digest
from tagwright.core.versions import in_use, model_names, new_place, put_in_use, saved_at
from tagwright.data.corpus import Corpus, text_groups
from tagwright.data.subjects import relabel_document
from tagwright.errors import TagwrightError
from tagwright.evaluation import dataset
from tagwright.evaluation.significance import Difference, compare_all
from tagwright.review.blind import FEWEST
from tagwright.server.languages import Text
from tagwright.server.review.review import Review, TrainingData
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.types import Document, Run

BATCH_SIZE = 50
"Documents that clients have to send before a training begins by itself."

_log = logging.getLogger(__name__)

Refit: TypeAlias = Callable[[Tagger, TrainingData], Tagger]
"""Return a tagger trained on reviewed documents, as `refit_combiner` does.

Its record `training["combined"]["nDCG@5"]` has the values "before" and "after", cross-validated."""

REVIEWS = "reviews"
"The entry of a training record with the number of reviewed documents that a combiner was learned from."

BLIND = "blind"
"The entry of a training record with what was measured on documents that were reviewed blind."


class Trained(NamedTuple):
    """A model that was trained on decisions, as the record of its training says.

    version: the name of its folder. date: when it was saved, as YYYY-MM-DD HH:MM UTC. trained: nDCG@5 "before" and
    "after" the decisions, cross-validated. gain: the interval of the gain on new documents. blind: how many "reviews"
    it learned from, on how many documents had been "decided", and how many "documents" were reviewed blind and not
    learned from; of enough of these, nDCG@5 of the version "besides", which was in use, as "before", that of this one
    as "after", and the "difference" with its interval ("value", "low", "high"). All scores are from 0 to 1. decisions:
    a digest of them. base: the record of the training that it began with.
    """

    version: str
    date: str
    trained: Mapping[str, float]
    gain: Mapping[str, float]
    blind: Mapping[str, Any]
    decisions: str
    base: Mapping[str, Any]

    @classmethod
    def of(cls, place: Path) -> Self | None:
        """Read the record of a saved model; None for one that was trained otherwise."""
        training = manifest_of(place).get("training", {})
        combined = training.get("combined", {})
        if BLIND not in combined:
            return None
        date, decisions = f"{saved_at(place):%Y-%m-%d %H:%M} UTC", training["data"]["decisions"]
        measured = combined["nDCG@5"], combined["gain"], combined[BLIND]
        return cls(place.name, date, *measured, decisions, training["before"])

    def sentences(self, folder: str) -> tuple[Text, ...]:
        """Describe what was trained, its scores, and their bias. folder: the name of that of the versions."""
        form = "Version %(version)s of %(folder)s: trained on %(count)s documents, %(date)s."
        made = Text(form, version=self.version, folder=folder, count=f"{self.blind['reviews']:,}", date=self.date)
        form = (
            "On the documents that it was trained on, nDCG@5 is %(before)s without the decisions and %(after)s with "
            "them (cross-validated). These figures are too good: reviewers accept what they are shown."
        )
        flattered = Text(form, **{name: _percent(self.trained[name]) for name in ("before", "after")})
        form = (
            "On new documents like these, the decisions bring from %(low)s to %(high)s points (95%% interval) by these "
            "figures."
        )
        expected = Text(form, **{end: f"{100 * self.gain[end]:+.1f}" for end in ("low", "high")})
        return (made, *self._measured(), flattered, expected)

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


def measured_gain(
    after: Tagger, before: Tagger, documents: Sequence[Document], labels: Sequence[Sequence[str]]
) -> Difference:
    """Return nDCG@5 of two taggers on the same documents, and the difference with its 95% interval.

    labels: ids of the right ones of each document. The interval is that of a paired bootstrap over the documents, with
    so many samples that chance in them hardly moves it.
    """
    labelled = Corpus.of([relabel_document(document, ids) for document, ids in zip(documents, labels, strict=True)])
    task = dataset.evaluation_set(labelled, before.vocabulary, skip_unlabelled=True, unknown="ignore")
    runs = {"after": after, "before": before}
    tagged = {name: dataset.tag_across_vocabularies(tagger, task) for name, tagger in runs.items()}
    return compare_all(tagged, task.gold, measures=["nDCG@5"], samples=10_000)["nDCG@5"]


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
        newest_first = reversed(model_names(self.folder))
        return next((trained for name in newest_first if (trained := Trained.of(self.folder / name))), None)

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
        model, decisions = self.review.model.snapshot(), _digest(data)
        if model.tagger is not self._served:  # the first training, or another version was put in use
            self._served, self._base = model.tagger, without_reviews(model.tagger)
        base = json.loads(json.dumps(self._base.training))
        if (last := self.last) and (last.decisions, last.base) == (decisions, base):
            form = "Nothing is new: version %(version)s has learned from the same decisions."
            self.problem = Text(form, version=last.version)
            return
        trained = self.refit(self._base, data)
        number = model.number
        if model.history != self.folder:  # the way back
            number = self._save(model.tagger, use=True)
            self.review.model.keep_versions(self.folder, number)
        blind: dict[str, Any] = {"reviews": sum(map(bool, data.labels)), "decided": len(self.review.decisions.labels())}
        blind |= self._measured(trained, model, data, number)
        combined = {**trained.training["combined"], BLIND: blind}
        record = {**trained.training, "combined": combined, "data": {"decisions": decisions}, "before": base}
        trained = replace(trained, training=record)
        is_better = blind.get("difference", {"low": 0})["low"] > 0
        is_current = in_use(self.folder).name == number
        name = self._save(trained, use=is_better and is_current)
        if not is_current:
            _log.warning("%s: another version than %s was put in use meanwhile, so %s waits", self.folder, number, name)
        elif is_better:
            self._served = trained
            self.review.model.swap(trained, saved_at(self.folder / name), number=name, history=self.folder)

    def _save(self, tagger: Tagger, *, use: bool) -> str:
        """Save a version, and put it in use if that is wanted; return its name."""
        place = new_place(self.folder)
        tagger.save(place)
        if use:
            put_in_use(place)
        return place.name

    def _measured(self, trained: Tagger, model: ServedModel, data: TrainingData, number: str) -> Mapping[str, Any]:
        """Compare with the version in use on the documents that were reviewed blind, see `Trained`."""
        index = model.tagger.vocabulary.index
        texts = text_groups(data.documents).tolist()  # what was learned from, or measured on, measures nothing again
        learned = {text for text, *sets in zip(texts, data.labels, data.judged, strict=True) if any(sets)}
        blind = {text: row for row, text in enumerate(texts) if any(id_ in index for id_ in data.blind[row])}
        rows = sorted(row for text, row in blind.items() if text not in learned)
        if len(rows) < FEWEST:
            return {"documents": len(rows), "besides": number}
        documents, labels = [data.documents[row] for row in rows], [data.blind[row] for row in rows]
        gain = measured_gain(trained, model.tagger, documents, labels)
        scores = {"after": gain.a, "before": gain.b, "difference": gain.difference.to_json()}
        return {"documents": len(rows), "besides": number, **scores}
