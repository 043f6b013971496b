"""Tagwright itself, as an installed package and by its public interface: `zero_shot`, and `auto` with its defaults.

`zero_shot` also with a static encoder, which from nothing is distilled first, and without an encoder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peer_runners.protocol import Job, Records, Suggestions, answer

if TYPE_CHECKING:
    from tagwright import Tagger


@dataclass(frozen=True)
class Ours:
    """A tagger."""

    tagger: Tagger

    def suggest(self, documents: Records, k: int) -> Iterator[Suggestions]:
        """The k best labels of each document."""
        ids = self.tagger.vocabulary.ids
        for labels, scores in self.tagger.tag(documents.path, k):
            yield list(zip((ids[label] for label in labels.tolist()), scores.tolist(), strict=True))

    def save(self, folder: Path) -> None:
        """The folder of the tagger."""
        self.tagger.save(folder / "tagger", overwrite=True)


def fit(job: Job) -> Ours:
    """The method that is asked for; `auto` sees the documents without labels too."""
    import tagwright as tw

    if job.variant == "zero_shot":
        return Ours(tw.zero_shot(job.labels.path, offline=True, progress=False))
    if job.variant == "words":
        return Ours(tw.zero_shot(job.labels.path, stages=["exact_match", "tfidf"], offline=True, progress=False))
    if job.variant == "static":
        return Ours(tw.zero_shot(job.labels.path, encoder="static", offline=True, progress=False))
    return Ours(tw.train("auto", job.train.path, job.labels.path, offline=True, progress=False))


def load(job: Job) -> Ours:
    """The saved tagger."""
    import tagwright as tw

    return Ours(tw.load(job.folder / "tagger"))


if __name__ == "__main__":
    answer(fit, load)
