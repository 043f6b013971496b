"""Train the served model on the decisions of reviewers, replace it between two requests, and save it.

Only the combiner is trained: how far to trust each stage. The stages stay as they are, since a tagger does not store
the documents that they were trained on. Every training begins with the model as it was before any review.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
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
from tagwright.server.review.session import Review
from tagwright.tagger import KIND, Tagger
from tagwright.types import Document, Run

_log = logging.getLogger(__name__)


Refit: TypeAlias = Callable[[Tagger, Sequence[Document], Sequence[set[str]]], Tagger]
"Trains a tagger on what `Review.labelled` returns. Its training record holds nDCG@5 before and after."

REVIEWS = "reviews"
"Entry of a training record: the number of reviewed documents that a combiner was learned from."


def saved_in(folder: Path | None) -> str:
    """Return which tagger a folder holds: the number of the version in use, or else a digest; "" for none."""
    if folder is None:
        return ""
    models = Models(folder)
    return models.current.name if models.exist else saved_version(folder)


def refit_combiner(tagger: Tagger, documents: Sequence[Document], judged: Sequence[set[str]]) -> Tagger:
    """Learn how to combine the stages of a tagger; a learned combiner is kept, and more is learned on top of it.

    documents: with the right labels. judged: label ids for each document, see `Review.labelled`. Raises ConfigError for
    fewer than two documents with labels, and for a combiner of another package.
    """
    index = tagger.vocabulary.index
    rows = Run.from_rows([{index[id_] for id_ in ids if id_ in index} for ids in judged])
    job = Job(method="auto", config=Config(), documents=documents, model=tagger, judged=rows, unknown="ignore")
    trained = job.run()
    if trained.combiner is tagger.combiner:  # nothing was learned
        return trained
    combined = {**trained.training["combined"], REVIEWS: _count_labelled(documents)}
    return replace(trained, training={**trained.training, "combined": combined})


def _count_labelled(documents: Sequence[Document]) -> int:
    return sum(bool(document.labels) for document in documents)


def without_reviews(tagger: Tagger) -> Tagger:
    """Return the tagger as it was before `refit_combiner`; itself, if it was not trained by that."""
    if REVIEWS not in tagger.training.get("combined", {}):
        return tagger
    features = tagger.combiner.learned_features
    before = features.first if features else tagger.combiner
    return replace(tagger, combiner=before, parents=None, training=tagger.training.get("before", {}))


@dataclass
class Refitter:
    """Train in the background, one training at a time, always from the tagger as it was before any review.

    folder: where the trained tagger is saved, in place of the one there or as a new version; None: nowhere, so that it
    is gone when the server ends. expected: what `saved_in` returned for the folder before the model was loaded; if it
    holds something else by now, nothing is saved or used. outcome: of the last training, a text for each sentence.
    """

    review: Review
    refit: Refit
    folder: Path | None = None
    expected: str | None = None
    outcome: tuple[Text, ...] = ()
    _base: Tagger = field(init=False)  # what each training begins with
    _served: Tagger | None = field(default=None, init=False)  # of which that is the base
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.expected is None:
            self.expected = saved_in(self.folder)

    @property
    def is_running(self) -> bool:
        """Whether a training is under way."""
        return self._task is not None and not self._task.done()

    def start(self) -> bool:
        """Begin a training. Return False if one is under way."""
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
            documents, judged = await asyncio.to_thread(self.review.labelled)
            self.outcome = await asyncio.to_thread(self._train, documents, judged)
        except TagwrightError as error:
            self.outcome = (Text("The model was not trained: %(reason)s", reason=error),)
        except Exception:
            _log.exception("the training on decisions failed")
            self.outcome = (Text("The model was not trained: internal error; see the server's log."),)

    def _train(self, documents: Sequence[Document], judged: Sequence[set[str]]) -> tuple[Text, Text]:
        """Train; save and serve the result if it is better on documents not seen in training. Return the outcome."""
        model = self.review.model.snapshot()
        if model.tagger is not self._served:  # the first training, or another version was promoted
            self._served, self._base = model.tagger, without_reviews(model.tagger)
        trained, now = self.refit(self._base, documents, judged), datetime.now(UTC)
        measured = trained.training["combined"]["nDCG@5"]
        when = {"count": f"{_count_labelled(documents):,}", "time": f"{now:%H:%M}"}
        form = "nDCG@5, cross-validated on reviewed documents: %(before)s without the decisions, %(after)s with them."
        figures = Text(form, **{name: f"{100 * measured[name]:.1f}" for name in ("before", "after")})
        if measured["after"] <= measured["before"]:
            form = "Trained on %(count)s documents at %(time)s UTC, without a gain: the model stays as it is."
            return Text(form, **when), figures
        try:
            if model.history is not None and in_use(model.history).name != model.number:
                raise ChangedError(f"{model.history}: another version than {model.number} was promoted meanwhile")
            expected = model.number if self.folder == model.history else self.expected
            outcome, number = self._save(trained, expected, when)
        except ChangedError as error:
            _log.warning("the trained model is neither saved nor used: %s", error)
            if self.folder and Models(self.folder).exist:
                form = "Another version was promoted meanwhile, so nothing is changed: load it and train again."
            else:
                form = "Another model was saved meanwhile, so nothing is changed: load it and train again."
            return Text(form), figures
        self.review.model.swap(trained, now, **({"number": number} if self.folder == model.history else {}))
        self._served = trained
        return outcome, figures

    def _save(self, tagger: Tagger, expected: str | None, when: dict[str, str]) -> tuple[Text, str]:
        """Save the tagger if there is a folder for it, as a new version in use if the folder has versions.

        when: count of documents and time, for the text. Return the outcome, and the number of the new version or "".
        Raises ChangedError if the folder holds another tagger than `expected`.
        """
        if self.folder is None:
            form = "Trained on %(count)s documents at %(time)s UTC; it is in use, and gone when the server ends."
            return Text(form, **when), ""
        models = Models(self.folder)
        try:
            if models.exist:
                self.expected = models.add(tagger, after=expected or "").name
            else:
                with replace_folder(self.folder, KIND, read=expected) as target:
                    tagger.write(target)
                    written = saved_version(target)
                self.expected = written
        except ChangedError:
            raise
        except TagwrightError as error:
            _log.warning("the trained model is not saved: %s", error)
            form = (
                "Trained on %(count)s documents at %(time)s UTC; it is in use, and not saved, so gone when the server "
                "ends (%(reason)s)."
            )
            return Text(form, **when, reason=error), ""
        if models.exist:
            form = (
                "Trained on %(count)s documents at %(time)s UTC; it is in use, and saved as version %(version)s of "
                "%(name)s."
            )
            return Text(form, **when, version=self.expected, name=self.folder.name), self.expected
        form = "Trained on %(count)s documents at %(time)s UTC; it is in use, and saved as %(name)s."
        return Text(form, **when, name=self.folder.name), ""
