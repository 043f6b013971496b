"""Train the served model on the decisions of reviewers, replace it between two requests, and save it.

A training learns how far to trust each stage of the tagger. The stages themselves stay as they are, since a tagger does
not hold the documents that they were trained on. Every training begins with the tagger as it was before any review.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from tagwright.api.job import Job
from tagwright.auto import Config
from tagwright.core.atomic import ChangedError, replace_folder, saved_version
from tagwright.core.versions import in_use
from tagwright.errors import TagwrightError
from tagwright.models import Models
from tagwright.server.languages import Text
from tagwright.server.review.review import Review, TrainingData
from tagwright.tagger import KIND, Tagger
from tagwright.types import Run

_log = logging.getLogger(__name__)

Refit: TypeAlias = Callable[[Tagger, TrainingData], Tagger]
"""Return a tagger trained on reviewed documents, as `refit_combiner` does.

Its record `training["combined"]["nDCG@5"]` has the values "before" and "after", cross-validated."""

REVIEWS = "reviews"
"The entry of a training record with the number of reviewed documents that a combiner was learned from."


def tagger_in(folder: Path | None) -> str:
    """Return what identifies the tagger in a folder: the version in use or a digest of its files; "" for none."""
    if folder is None:
        return ""
    models = Models(folder)
    return models.current.name if models.exist else saved_version(folder)


def refit_combiner(tagger: Tagger, data: TrainingData) -> Tagger:
    """Return a tagger that has learned how to combine its stages, on top of a learned combiner if it has one.

    Labels never shown to a reviewer are no examples. Raises ConfigError for fewer than two documents with labels, and
    for a combiner of another package.
    """
    labelled = [replace(each, labels=tuple(ids)) for each, ids in zip(data.documents, data.labels, strict=True)]
    index = tagger.vocabulary.index
    judged = Run.from_rows([{index[id_] for id_ in ids if id_ in index} for ids in data.judged])
    job = Job(method="auto", config=Config(), documents=labelled, model=tagger, judged=judged, unknown="ignore")
    trained = job.run()
    if trained.combiner is tagger.combiner:  # nothing was learned
        return trained
    combined = {**trained.training["combined"], REVIEWS: sum(map(bool, data.labels))}
    return replace(trained, training={**trained.training, "combined": combined})


def without_reviews(tagger: Tagger) -> Tagger:
    """Return the tagger as it was before `refit_combiner`; itself, if it was not trained by that."""
    if REVIEWS not in tagger.training.get("combined", {}):
        return tagger
    # without features, only confidences were learned, which the next training replaces
    features = tagger.combiner.learned_features
    before = features.first if features else tagger.combiner
    return replace(tagger, combiner=before, parents=None, training=tagger.training.get("before", {}))


@dataclass
class Refitter:
    """Train in the background, one training at a time, always from the tagger as it was before any review.

    folder: where the trained tagger is saved, in place of the one that is there; None: it is in use until the server
    ends. saved: what the folder held when the server read it, see `tagger_in`; nothing else is replaced. None: what it
    holds now. outcome: the result of the last training, a text for each sentence.
    """

    review: Review
    refit: Refit
    folder: Path | None = None
    saved: str | None = None
    outcome: tuple[Text, ...] = ()
    _base: Tagger = field(init=False)
    "The served tagger without reviews: where the next training begins."
    _served: Tagger | None = field(default=None, init=False)
    "The served tagger that `_base` was made of, or that the last training made of it."
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.saved is None:
            self.saved = tagger_in(self.folder)

    @property
    def is_running(self) -> bool:
        """Whether a training is under way."""
        return self._task is not None and not self._task.done()

    def start(self) -> bool:
        """Begin a training; False if one is under way."""
        if self.is_running:
            return False
        self.outcome = ()
        self._task = asyncio.get_running_loop().create_task(self._run())
        return True

    async def finish(self) -> None:
        """Wait for the training that is under way."""
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        try:
            data = await asyncio.to_thread(self.review.training_data)
            self.outcome = await asyncio.to_thread(self._train, data)
        except TagwrightError as error:
            self.outcome = (Text("The model was not trained: %(reason)s", reason=error),)
        except Exception:
            _log.exception("the training on decisions failed")
            self.outcome = (Text("The model was not trained: internal error; see the server's log."),)

    def _train(self, data: TrainingData) -> tuple[Text, Text]:
        """Train; use and save the result if it is better on documents that it has not seen. Return what was done."""
        model = self.review.model.now()
        if model.tagger is not self._served:  # the first training, or another version was promoted
            self._served, self._base = model.tagger, without_reviews(model.tagger)
        trained, now = self.refit(self._base, data), datetime.now(UTC)
        measured = trained.training["combined"]["nDCG@5"]
        when = {"count": f"{sum(map(bool, data.labels)):,}", "time": f"{now:%H:%M}"}
        form = "nDCG@5, cross-validated on reviewed documents: %(before)s without the decisions, %(after)s with them."
        figures = Text(form, **{name: f"{100 * measured[name]:.1f}" for name in ("before", "after")})
        if measured["after"] <= measured["before"]:
            form = "Trained on %(count)s documents at %(time)s UTC, without a gain: the model stays as it is."
            return Text(form, **when), figures
        # A folder of versions may also be the one that is served: then the new version replaces the one that answers.
        is_own_history = self.folder is not None and self.folder == model.history
        try:
            if model.history is not None and in_use(model.history).name != model.number:
                raise ChangedError(f"{model.history}: another version than {model.number} was promoted meanwhile")
            outcome, number = self._save(trained, model.number if is_own_history else self.saved, when)
        except ChangedError as error:
            _log.warning("the trained model is neither saved nor used: %s", error)
            if self.folder and Models(self.folder).exist:
                form = "Another version was promoted meanwhile, so nothing is changed: load it and train again."
            else:
                form = "Another model was saved meanwhile, so nothing is changed: load it and train again."
            return Text(form), figures
        self.review.model.swap(trained, now, **({"number": number} if is_own_history else {}))
        self._served = trained
        return outcome, figures

    def _save(self, tagger: Tagger, saved: str | None, when: dict[str, str]) -> tuple[Text, str]:
        """Save the tagger if there is a folder for it, as a new version in use if that has versions.

        Return what became of it, and the number of the version or "". saved: what is replaced; ChangedError is raised
        where the folder holds anything else. when: number of documents that it was trained on, and the time.
        """
        if self.folder is None:
            form = "Trained on %(count)s documents at %(time)s UTC; it is in use, and gone when the server ends."
            return Text(form, **when), ""
        try:
            if (models := Models(self.folder)).exist:
                self.saved = models.add(tagger, after=saved or "").name
                form = (
                    "Trained on %(count)s documents at %(time)s UTC; it is in use, and saved as version %(version)s of "
                    "%(name)s."
                )
                return Text(form, **when, version=self.saved, name=self.folder.name), self.saved
            with replace_folder(self.folder, KIND, read=saved) as target:
                tagger.write(target)
                written = saved_version(target)
            self.saved = written  # only now is it there
        except ChangedError:
            raise
        except TagwrightError as error:
            _log.warning("the trained model is not saved: %s", error)
            form = (
                "Trained on %(count)s documents at %(time)s UTC; it is in use, and not saved, so gone when the server "
                "ends (%(reason)s)."
            )
            return Text(form, **when, reason=error), ""
        form = "Trained on %(count)s documents at %(time)s UTC; it is in use, and saved as %(name)s."
        return Text(form, **when, name=self.folder.name), ""
