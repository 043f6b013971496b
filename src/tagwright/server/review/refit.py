"""Train the served model on the decisions of reviewers, and replace it between two requests."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeAlias

from tagwright.errors import TagwrightError
from tagwright.job import Job
from tagwright.methods.table import COMBINE, configuration
from tagwright.server.review.session import Labelled, Review
from tagwright.tagger import Tagger
from tagwright.types import Run

_log = logging.getLogger(__name__)


Refit: TypeAlias = Callable[[Tagger, Labelled], Tagger]
"Train a tagger on labelled documents. Its training record may hold nDCG@5 before and after."


def refit_combiner(tagger: Tagger, reviewed: Labelled) -> Tagger:
    """Learn how to combine the stages of a tagger; return it unchanged if cross-validation finds nothing better.

    Labels never shown to a reviewer are no examples. Raises ConfigError unless the combiner is a weighted sum.
    """
    labelled = [replace(each, labels=tuple(ids)) for each, ids in zip(reviewed.documents, reviewed.labels, strict=True)]
    index = tagger.vocabulary.index
    judged = Run.from_rows([{index[id_] for id_ in ids if id_ in index} for ids in reviewed.judged])
    config = configuration(COMBINE, {})
    return Job(method=COMBINE, config=config, documents=labelled, model=tagger, judged=judged, unknown="ignore").run()


@dataclass
class Refitter:
    """Train in the background, one training at a time, always from the tagger that the server started with.

    outcome: the result of the last training, in a sentence.
    """

    review: Review
    refit: Refit
    outcome: str = ""
    _base: Tagger = field(init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._base = self.review.model.tagger

    @property
    def is_running(self) -> bool:
        """Whether a training is under way."""
        return self._task is not None and not self._task.done()

    def start(self) -> bool:
        """Begin a training; False if one is under way."""
        if self.is_running:
            return False
        self._task = asyncio.get_running_loop().create_task(self._run())
        return True

    async def finish(self) -> None:
        """Wait for the training that is under way."""
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        model = self.review.model
        try:
            labelled = await asyncio.to_thread(self.review.labelled)
            found = await asyncio.to_thread(self.refit, self._base, labelled)
            now = datetime.now(UTC)
            await asyncio.to_thread(model.swap, found, now)
        except TagwrightError as error:
            self.outcome = f"The model was not trained: {error}"
        except Exception:
            _log.exception("the training on decisions failed")
            self.outcome = "The model was not trained: internal error; see the server's log."
        else:
            count = sum(map(bool, labelled.labels))
            self.outcome = (
                f"Trained on {count:,} document{'s' * (count != 1)} at {now:%H:%M} UTC; it is in use.{_quality(found)}"
            )


def _quality(tagger: Tagger) -> str:
    measured = tagger.training.get("combined", {}).get("nDCG@5")
    if not measured:
        return ""
    return f" nDCG@5, cross-validated: {100 * measured['before']:.1f} before, {100 * measured['after']:.1f} now."
