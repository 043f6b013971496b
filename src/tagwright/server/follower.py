"""Serve the promoted version of a model: load it while the old one answers, then swap the two."""

import asyncio
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
    """Looks for promoted versions of models, and serves them.

    models: those whose versions may change. labels: the vocabulary to suggest from; None: that of each version.
    seconds: between two looks; None: look only when `ask` is called, within a second.
    """

    models: Sequence[ServedModel]
    labels: Vocabulary | None = None
    seconds: float | None = None
    _asked: bool = field(default=False, init=False)
    _checking: threading.Lock = field(default_factory=threading.Lock, init=False)

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            await asyncio.sleep(self.seconds or 1.0)
            if self._asked or self.seconds is not None:
                self._asked = False
                await asyncio.to_thread(self.check)

    def ask(self) -> None:
        """Look soon. A handler of signals may call it: it touches nothing of the event loop."""
        self._asked = True

    def check(self) -> None:
        """Serve the versions in use. For one that cannot be loaded, the old one goes on, and the log says why."""
        with self._checking:
            for model in self.models:
                try:
                    self._follow(model)
                except Exception as error:
                    _log.warning("%s goes on answering: %s", model.version, error)

    def _follow(self, model: ServedModel) -> None:
        if model.history is None:  # nothing was trained so far
            return
        place = in_use(model.history)
        if place.name == model.number:
            return
        tagger = load(place, self.labels)
        tagger.suggest(tagger.vocabulary[0].name, progress=False)  # loads what the first request would wait for
        changes = VocabularyChanges.of(model.tagger.vocabulary, tagger.vocabulary)
        model.swap(tagger, saved_at(place), number=place.name, language=language_of(tagger.vocabulary))
        _log.warning("%s answers from now on%s", model.version, f"; {changes}" if changes else "")


def load(place: Path, labels: Vocabulary | None) -> Tagger:
    """Return the tagger in a folder, over other labels if they are given."""
    tagger = Tagger.load(place)
    if labels is None:
        return tagger
    report_changes(tagger.vocabulary, labels)
    return tagger.with_labels(labels)


def language_of(vocabulary: Vocabulary) -> str:
    """Return the codes of the languages of the names, such as "de+en", the most frequent one first."""
    languages = main_languages(recognise(vocabulary_texts(vocabulary)))
    return "+".join(language.code for language in languages) or "en"
