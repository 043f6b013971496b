"""Whether the server is ready: from when its models are loaded until it is told to end."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from tagwright.server.problems import Busy, Problem
from tagwright.server.served_model import ServedModel
from tagwright.tagger.acceptance import SuggestOptions

_log = logging.getLogger(__name__)


@dataclass
class Readiness:
    """Whether requests should be sent to the server. stopping: whether it was told to end."""

    models: Sequence[ServedModel]
    stopping: bool = False
    _answering: int = field(default=0, init=False)

    def check(self) -> None:
        """Raise Problem (503) unless it is ready."""
        if self.stopping:
            raise Problem(503, "The server is stopping")
        if self._answering < len(self.models) or not all(model.search.is_built for model in self.models):
            raise Problem(503, "The models are being loaded", headers={"Retry-After": "1"})

    async def load(self) -> None:
        """Let each model answer once, which loads what it needs, and index its labels.

        A failure is logged, and the server does not become ready.
        """
        for model in self.models:  # daemons, since a server that is told to end does not wait for them
            threading.Thread(target=_index, args=(model,), daemon=True).start()
        for model in self.models:
            try:
                await _answer(model)
                self._answering += 1
            except Exception:
                _log.exception("%s: does not answer; the server is not ready", model.version)


async def _answer(model: ServedModel) -> None:
    """Let the model suggest a label, as often as it takes: a first answer may take longer than a request may wait."""
    while True:
        try:
            await model.suggest([model.tagger.vocabulary[0].name], SuggestOptions(k=1))
        except Busy:
            await asyncio.sleep(1)
        else:
            return


def _index(model: ServedModel) -> None:
    try:
        model.search()
    except Exception:
        _log.exception("%s: its labels cannot be searched; the server is not ready", model.version)
