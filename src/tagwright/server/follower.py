"""Serve the version in use of folders of versions: load a promoted one beside the one that answers, then swap them."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tagwright.core.versions import in_use, saved_at
from tagwright.data.vocabulary import Vocabulary
from tagwright.data.vocabulary_changes import VocabularyChanges, report_changes
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.text.language import main_languages, recognise, vocabulary_texts

_log = logging.getLogger(__name__)


@dataclass
class Follower:
    """Follows the promotions of the models that have a history.

    labels: the vocabulary to suggest from, if it is not that of the versions. seconds: how often to look; None: only
    when `ask` is called.
    """

    models: Sequence[ServedModel]
    labels: Vocabulary | None = None
    seconds: float | None = None
    _asked: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _checking: threading.Lock = field(default_factory=threading.Lock, init=False)

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), self.seconds)
            self._asked.clear()
            await asyncio.to_thread(self.check)

    def ask(self) -> None:
        """Look soon."""
        self._asked.set()

    def check(self) -> None:
        """Serve the versions in use; where one cannot be loaded, the one that answers goes on, and the log says why."""
        with self._checking:
            for model in self.models:
                try:
                    self._follow(model)
                except Exception as error:
                    _log.warning("%s goes on answering: %s", model.version, error)

    def _follow(self, model: ServedModel) -> None:
        assert model.history is not None
        place = in_use(model.history)
        if place.name == model.number:
            return
        tagger = load(place, self.labels)
        tagger.suggest(tagger.vocabulary[0].name, progress=False)  # loads what is loaded by the first request otherwise
        changes = VocabularyChanges.of(model.tagger.vocabulary, tagger.vocabulary)
        model.swap(tagger, saved_at(place), number=place.name, language=language_of(tagger.vocabulary))
        _log.warning("%s answers from now on%s", model.version, f"; {changes}" if changes else "")


def load(place: Path, labels: Vocabulary | None) -> Tagger:
    """The tagger in a folder, over its own labels or these."""
    tagger = Tagger.load(place)
    if labels is None:
        return tagger
    report_changes(tagger.vocabulary, labels)
    return tagger.with_labels(labels)


def language_of(vocabulary: Vocabulary) -> str:
    """The codes of the languages that the names are in, such as "de+en", that of most names first."""
    languages = main_languages(recognise(vocabulary_texts(vocabulary)))
    return "+".join(language.code for language in languages) or "en"
