"""Quality of what is learnt without labels: `python -m benchmarks unsupervised [--corpora ...] [--rows ...]`.

Every trained row sees the same number of batches of the same size, and labels are embedded as in the papers: all their
text. What stops early does so by the loss of held-out pairs; no gold label is read, but by the few-shot rows, which say
so in their names. Rows are written as they come. What they were measured with stays in --work: a run that was
interrupted goes on there, and row by row can be added.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import corpora, machine

from tagwright.data.documents import Corpus
from tagwright.data.labels import Vocabulary
from tagwright.encoders.bi import BiEncoder
from tagwright.encoders.static import distil
from tagwright.evaluation.metrics import labelled
from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.significance import compare
from tagwright.learning.pairs import sample_labels, sample_pairs
from tagwright.methods import contrastive, maclr, rts, zeroshot
from tagwright.store import replace_file
from tagwright.tagging.dense import Dense, DenseOptions
from tagwright.tagging.tagger import Tagger
from tagwright.types import Document, Run

DEPTH = 100
STEPS = 400
"Batches that a row is trained on; a method of two stages has half of them for each."

MEASURES = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "R@100")
TESTED = ("P@1", "P@5", "nDCG@5", "R@100")
RESULT = Path(__file__).parent / "results" / "unsupervised.json"


@dataclass(frozen=True)
class Task:
    """A corpus, an encoder, and the folder in which taggers and runs of the rows lie."""

    name: str
    encoder: str
    steps: int
    work: Path

    @cached_property
    def train(self) -> Corpus:
        """The documents to learn from."""
        return Corpus.read(corpora.FOLDER / self.name / "train.jsonl.gz")

    @cached_property
    def labels(self) -> Vocabulary:
        """The vocabulary."""
        return corpora.labels(self.name)

    @cached_property
    def dev(self) -> list[Document]:
        """Those that have a label to find."""
        return [d for d, kept in zip(self._dev, labelled(self._gold(self._dev)), strict=True) if kept]

    @cached_property
    def gold(self) -> Run:
        """The labels of the dev documents."""
        return self._gold(self.dev)

    @property
    def exclude_self(self) -> bool:
        """On mdn a page is a label too."""
        return self.name == "mdn"

    def folder(self, row: str) -> Path:
        """Where the tagger, the run and the scores of a row lie."""
        return self.work / f"{self.encoder} {self.steps}" / self.name / row.replace("/", "-")

    def tagger(self, row: str) -> Tagger:
        """The tagger of a row, made if need be."""
        if not (self.folder(row) / "tagger").is_dir():
            measure(row, self)
        return Tagger.load(self.folder(row) / "tagger")

    def run(self, row: str) -> Run:
        """What the tagger of a row said of the dev documents."""
        with np.load(self.folder(row) / "run.npz", allow_pickle=False) as file:
            return Run(file["indptr"], file["labels"], file["scores"])

    def without_self(self, documents: Sequence[Document], run: Run) -> Run:
        """Without the label that is the document itself, where documents are labels."""
        if not self.exclude_self:
            return run
        own = np.array([self.labels.index.get(document.id, -1) for document in documents])
        return run.keep(run.labels != own[run.rows])

    @cached_property
    def _dev(self) -> list[Document]:
        return corpora.documents(self.name, "dev")

    def _gold(self, documents: Sequence[Document]) -> Run:
        return self.without_self(documents, self.labels.gold(documents))


Fit = Callable[[Task], Tagger]


def plain(task: Task, encoder: Callable[[], BiEncoder]) -> Tagger:
    return Tagger(task.labels, {"dense": Dense(task.labels, encoder(), DenseOptions(k=500, label_text="text"))})


def learnt(task: Task, module: Any, share: float = 1.0, **options: Any) -> Tagger:
    steps = max(1, round(task.steps * share))
    config = module.Config(encoder=task.encoder, steps=steps, label_text="text", **options)
    tagger: Tagger = module.fit(task.train, task.labels, config)
    return tagger


def table_4(task: Task, parts: Sequence[str]) -> Tagger:
    """MACLR with these parts switched on."""
    two_stages = "encoder_pairs" in parts or "tfidf_pairs" in parts
    switches = {part: part in parts for part in (*STAGE_1, "encoder_pairs", "tfidf_pairs")}
    return learnt(task, maclr, 0.5 if two_stages else 1.0, exclude_self=task.exclude_self, **switches)


def few_shot(task: Task, start: str, kind: str, share: float) -> Tagger:
    gold = task.without_self(task.train, task.labels.gold(task.train, unknown="ignore"))
    few = sample_labels(gold, len(task.labels), share) if kind == "labels" else sample_pairs(gold, share)
    return maclr.fine_tune(task.tagger(start), task.train, few)


def fused(task: Task) -> Tagger:
    dense = task.tagger(RTS).stages["dense"]
    assert isinstance(dense, Dense)
    return zeroshot.joined(zeroshot.fit(task.labels), Dense(task.labels, dense.encoder, DenseOptions(k=500)))


RTS, ICT, BOTH, FULL = "RTS", "ICT (MACLR 1)", "MACLR 4: clusters, labels", "MACLR 7: all"
ZEROSHOT = "zero-shot"
STAGE_1 = ("clustering", "label_regularisation")

ROWS: Mapping[str, tuple[Fit, tuple[str, ...]]] = {
    "plain static": (partial(plain, encoder=lambda: BiEncoder.of(distil())), ()),
    "plain MiniLM": (partial(plain, encoder=BiEncoder.load), ()),
    RTS: (partial(learnt, module=rts), ("plain static", "plain MiniLM")),
    "RTS, fixed segments": (partial(learnt, module=rts, segmentation="fixed"), (RTS,)),
    "RTS, natural segments": (partial(learnt, module=rts, segmentation="natural"), (RTS,)),
    "RTS, no label pairs": (partial(learnt, module=rts, label_pairs=False), (RTS,)),
    "RTS, title pairs only": (partial(learnt, module=rts, label_pairs=False, segment_pairs=False), (RTS,)),
    "RTS, no title pairs": (partial(learnt, module=rts, title_pairs=False), (RTS,)),
    "RTS, no segment pairs": (partial(learnt, module=rts, segment_pairs=False), (RTS,)),
    "RTS, no groups": (partial(learnt, module=rts, groups=False), (RTS,)),
    "SimCSE": (partial(learnt, module=contrastive, pairs="simcse"), ("plain static",)),
    ICT: (partial(learnt, module=contrastive, pairs="ict"), ("plain static", "SimCSE")),
    "MACLR 2: clusters": (partial(table_4, parts=STAGE_1[:1]), (ICT,)),
    "MACLR 3: labels": (partial(table_4, parts=STAGE_1[1:]), (ICT,)),
    BOTH: (partial(table_4, parts=STAGE_1), (ICT,)),
    "MACLR 5: 4 and encoder": (partial(table_4, parts=(*STAGE_1, "encoder_pairs")), (BOTH,)),
    "MACLR 6: 4 and TF-IDF": (partial(table_4, parts=(*STAGE_1, "tfidf_pairs")), (BOTH,)),
    FULL: (partial(table_4, parts=(*STAGE_1, "encoder_pairs", "tfidf_pairs")), (ICT, BOTH, RTS)),
    **{
        f"RTS, 1/{part} of the batches": (partial(learnt, module=rts, share=1 / part), (FULL,))
        for part in (2, 4, 8, 16)
    },
    ZEROSHOT: (lambda task: zeroshot.fit(task.labels), ()),
    "RTS, fused": (fused, (ZEROSHOT, RTS)),
    **{
        f"{start}, {share:.0%} of {kind}": (partial(few_shot, start=start, kind=kind, share=share), (start,))
        for kind in ("labels", "pairs")
        for share in (0.01, 0.05)
        for start in (RTS, FULL)
    },
}
"Name -> how to make its tagger, and the rows that it is tested against."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks unsupervised")
    parser.add_argument("--corpora", nargs="+", choices=corpora.NAMES, default=["mdn", "tib"])
    parser.add_argument("--rows", nargs="+", choices=tuple(ROWS), default=list(ROWS), metavar="ROW")
    parser.add_argument("--encoder", default="static", help="what is trained")
    parser.add_argument("--steps", type=int, default=STEPS, help="batches of a trained row")
    parser.add_argument("--work", type=Path, required=True, help="a folder for taggers and runs")
    parser.add_argument("--output", type=Path, default=RESULT, help="a JSON file, added to where it exists")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    for name in options.corpora:
        task = Task(name, options.encoder, options.steps, options.work)
        for row in options.rows:
            if not (task.folder(row) / "row.json").is_file():
                measure(row, task)
            add(options.output, task, row)


def measure(row: str, task: Task) -> None:
    """Make the tagger of a row; store it, its run and its scores."""
    start = time.perf_counter()
    tagger = ROWS[row][0](task)
    seconds = time.perf_counter() - start
    run = task.without_self(task.dev, tagger.tag(task.dev, DEPTH + 1)).top(DEPTH)
    folder = task.folder(row)
    folder.mkdir(parents=True, exist_ok=True)
    tagger.save(folder / "tagger")
    np.savez(folder / "run.npz", indptr=run.indptr, labels=run.labels, scores=run.scores)
    scores = evaluate(run, task.gold, measures=MEASURES)
    found = {"seconds": round(seconds, 1), **scores.to_json()["measures"]}
    (folder / "row.json").write_text(json.dumps(found), encoding="utf-8")
    shown = " ".join(f"{name} {100 * scores.measures[name].value:5.1f}" for name in MEASURES)
    print(f"{task.name:5} {row:34} {shown} {seconds:6.0f} s", file=sys.stderr, flush=True)


def add(output: Path, task: Task, row: str) -> None:
    """Write the row into the result, with its tests against the rows that are there."""
    result = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
    rows = result.setdefault(f"{task.name}, {task.encoder}", {"machine": machine.describe(), "steps": task.steps})
    rows[row] = json.loads((task.folder(row) / "row.json").read_text(encoding="utf-8"))
    others = [other for other in ROWS[row][1] if (task.folder(other) / "row.json").is_file()]
    rows[row]["against"] = {other: tests(task, row, other) for other in others}
    with replace_file(output) as file:
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def tests(task: Task, row: str, other: str) -> dict[str, Any]:
    """Differences with interval and p, before and after Holm's correction."""
    found: dict[str, Any] = compare(task.run(row), task.run(other), task.gold, measures=TESTED).to_json()["measures"]
    return found
