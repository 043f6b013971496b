"""Decisions of reviewers in, a model that has learnt from them out, swapped in while requests go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TypeAlias

from tagwright.errors import TagwrightError
from tagwright.server.reviewing import Review
from tagwright.tagger import Tagger
from tagwright.types import Document

_log = logging.getLogger(__name__)

Refit: TypeAlias = Callable[[Tagger, Sequence[Document], Sequence[Sequence[str]]], Tagger]
"A tagger, documents and the ids of each one's labels in, a better tagger over the same labels out; in a thread."


@dataclass
class Refitter:
    """Trains in the background, one training at a time, always from the tagger that the server began with.

    outcome: how the last training ended, in a sentence.
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
            documents, labels = await asyncio.to_thread(self.review.labelled)
            tagger = await asyncio.to_thread(self.refit, self._base, documents, labels)
        except TagwrightError as error:
            self.outcome = f"The model was not trained: {error}"
        except Exception:
            _log.exception("the training on decisions failed")
            self.outcome = "The model was not trained: the program made a mistake; the server's log says more."
        else:
            now = datetime.now(timezone.utc)
            model.swap(tagger, now)
            count = len(documents)
            self.outcome = f"Trained on {count:,} document{'s' * (count != 1)} at {now:%H:%M} UTC; it is in use."
