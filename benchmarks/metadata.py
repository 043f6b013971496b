"""Quality of what is learnt from metadata: `python -m benchmarks metadata --work DIR [--corpora ...] [--rows ...]`.

The candidates are always those of names and BM25; the rows differ in what ranks them. A row is named by the encoder it
starts from and by what it learns from: "static", freshly distilled; "minilm"; "cross", a cross-encoder that starts as
MiniLM with a fresh head. Text and metadata of train and dev are learnt from, labels are read for the scores alone. With
--without-dev nothing is learnt from dev: then the agreement with the keywords of its authors is evidence for what to
choose, and no gold label has a part in it. A transformer sees --pairs pairs once, a static encoder what `micol.Config`
says. A row whose meta-path the data do not have is left out, saying so. --paths measures every meta-path of the paper
with the static encoder, as a table of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from benchmarks import corpora, rows

from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.corpus import Corpus
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError, InputError
from tagwright.papers import micol
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.types import Run

MEASURES = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "nDCG@10")
PROPENSITY = ("PSP@1", "PSP@3", "PSP@5", "PSnDCG@3", "PSnDCG@5")
TESTED = ("P@1", "P@3", "P@5", "nDCG@5")

STARTS = ("static", "minilm", "cross")
UNTRAINED, MIXED = "untrained", "mixed"
PAIRS = 1000
"Pairs of a transformer's row; a tenth more are drawn and held out."

PATHS = (
    *("P->P<-P", "P->P", "P<-P", "P<-P->P", "P->(P,P)<-P", "P<-(P,P)->P"),
    *("P-A-P", "P-(A,A)-P", "P-V-P", "P-(A,V)-P", "auto"),
)
"The ten meta-paths and meta-graphs of the paper (Table 4), and the choice among them."
SOURCES: Mapping[str, Mapping[str, Any]] = {
    **{path: {"pairs": "metadata", "meta_path": path} for path in PATHS},
    MIXED: {"pairs": "mixed"},
}
"What is learnt from -> options of MICoL."


@dataclass(frozen=True)
class Task(rows.Task):
    """A corpus, the folder of its rows, and how many pairs a transformer sees."""

    pairs: int
    without_dev: bool
    paths: bool = False

    @cached_property
    def documents(self) -> Corpus:
        """What is learnt from: text and metadata of train and, unless it is to be without, dev."""
        parts = ("train",) if self.without_dev else ("train", "dev")
        return corpora.corpus(self.name, *parts)

    @property
    def heading(self) -> str:
        """What the result calls the table."""
        size = "" if self.pairs == PAIRS else f", {self.pairs:,} pairs"
        return f"{self.name}{size}{', train alone' * self.without_dev}{', every path' * self.paths}"

    @cached_property
    def train_gold(self) -> Run:
        """The labels of the labelled train documents, for the propensities."""
        labelled = (document for document in self.train if document.labels)
        return self.labels.gold(labelled, unknown="ignore")

    @property
    def has_propensities(self) -> bool:
        """Whether train has enough labels to say which are rare: epmc's has six labelled papers of 2,879."""
        return len(self.train_gold) >= len(self.dev)

    def config(self, start: str, **options: Any) -> micol.Config:
        """The configuration of a row; but where it says otherwise, the encoder alone ranks, as in the paper."""
        options = {"rank": "encoder", **options}
        if start != "static":
            options |= {"count": self.pairs + self.pairs // 10, "training": TrainingConfig(epochs=1.0)}
        encoder = "minilm" if start == "cross" else start
        return micol.Config(encoder=encoder, architecture="cross" if start == "cross" else "bi", **options)


def untrained(task: Task, start: str) -> Tagger:
    config = task.config(start)
    encoder = BiEncoder.load("static") if start == "static" else BiEncoder.load(config.encoder)
    return micol.rerank(task.labels, micol.retrievers(task.documents, task.labels, config), encoder, config)


def learnt(task: Task, start: str, options: Mapping[str, Any]) -> Tagger:
    return micol.fit(task.documents, task.labels, task.config(start, **options))


def fused(task: Task, start: str) -> Tagger:
    """The encoder of the mixed row, with a say for those who found the candidates: what `train micol` makes."""
    row = f"{start}: {MIXED}"
    if not task.is_measured(row):
        measure(task, row)
    tagger = Tagger.load(task.folder(row) / "tagger")
    return replace(tagger, steps=(WeightedSum(weights=micol.WEIGHTS),))


ROWS: Mapping[str, tuple[Callable[[Task], Tagger], tuple[str, ...]]] = {
    **{f"{start}: {UNTRAINED}": (partial(untrained, start=start), ()) for start in STARTS if start != "cross"},
    **{
        f"{start}: {what}": (
            partial(learnt, start=start, options=options),
            (f"{'minilm' if start == 'cross' else start}: {UNTRAINED}",),
        )
        for start in STARTS
        for what, options in SOURCES.items()
    },
    **{
        f"{start}: {MIXED}, fused": (partial(fused, start=start), (f"{start}: {UNTRAINED}", f"{start}: {MIXED}"))
        for start in ("static", "minilm")
    },
}
"Name -> how to make its tagger, and the rows that it is tested against."

OF_PATHS = tuple(f"static: {what}" for what in (UNTRAINED, *PATHS) if what != "auto")


def main(arguments: list[str]) -> None:
    parser = corpora.parser("metadata", __doc__, corpora=["epmc", "mdn", "arxiv", "tib"], work=True)
    parser.add_argument("--rows", nargs="+", choices=[*ROWS], default=[*ROWS], metavar="ROW")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs that a transformer is trained on")
    parser.add_argument("--without-dev", action="store_true", help="learn from train alone, so that keywords are new")
    parser.add_argument("--paths", action="store_true", help="the rows of every meta-path, static")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    for name in options.corpora:
        work = options.work / (f"{options.pairs} train" if options.without_dev else str(options.pairs))
        task = Task(name, work, options.pairs, options.without_dev, options.paths)
        for row in OF_PATHS if options.paths else options.rows:
            add(options.output, task, row)


def add(output: Path, task: Task, row: str) -> None:
    """Measure the row and write it into the result, if the data allow it."""
    try:
        if not task.is_measured(row):
            measure(task, row)
    except (ConfigError, InputError) as error:
        print(f"{task.name:5} {row:34} left out: {error}", file=sys.stderr, flush=True)
        return
    about = {"documents": len(task.dev), "transformers' pairs": task.pairs}
    rows.add(output, task, row, task.heading, about, ROWS[row][1], TESTED)


def measure(task: Task, row: str) -> None:
    if task.has_propensities:
        rows.measure(task, row, partial(ROWS[row][0], task), (*MEASURES, *PROPENSITY), task.train_gold)
    else:
        rows.measure(task, row, partial(ROWS[row][0], task), MEASURES)
