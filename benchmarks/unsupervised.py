"""Quality of what is learnt without labels: `python -m benchmarks unsupervised [--corpora ...] [--rows ...]`.

Every trained row sees the same number of batches of the same size, and labels are embedded as in the papers: all their
text. What stops early does so by the loss of held-out pairs; no gold label is read, but by the few-shot rows, which say
so in their names. Rows are written as they come. What they were measured with stays in --work: a run that was
interrupted goes on there, and row by row can be added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks import contrastive, corpora, rows

from tagwright.data.gold import sample_labels, sample_pairs
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.papers import maclr, rts
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.tagger import Tagger, batches, zero_shot
from tagwright.tagger.fuse import fuse
from tagwright.training.config import TrainingConfig
from tagwright.types import Run

PSEUDO = 3
"The first labels of TF-IDF that XR-Linear learns from, as many as MACLR does."

STEPS = 400
"Batches that a row is trained on; a method of two stages has half of them for each."

TRAINED_LENGTH = 128
"Tokens of a text that a transformer is trained on; it tags with as many as it could read before."

MEASURES = ("P@1", "P@3", "P@5", "nDCG@5", "R@10", "R@100")
TESTED = ("P@1", "P@5", "nDCG@5", "R@100")


@dataclass(frozen=True)
class Task(rows.Task):
    """A corpus, an encoder, and the folder in which taggers and runs of the rows lie."""

    encoder: str
    steps: int

    def tagger(self, row: str) -> Tagger:
        """The tagger of a row, made if need be."""
        if not (self.folder(row) / "tagger").is_dir():
            measure(row, self)
        return Tagger.load(self.folder(row) / "tagger")


Fit = Callable[[Task], Tagger]


def plain(task: Task, encoder: Callable[[], BiEncoder]) -> Tagger:
    return Tagger(task.labels, {"dense": Dense(task.labels, encoder(), DenseOptions(k=500, label_text="text"))})


def learnt(task: Task, module: Any, share: float = 1.0, pairs_of: Any = None, **options: Any) -> Tagger:
    steps = max(1, round(task.steps * share))
    if task.encoder != "static":
        options["max_length"] = TRAINED_LENGTH
    training = TrainingConfig(steps=steps)
    config = module.Config(encoder=task.encoder, label_text="text", training=training, **options)
    tagger: Tagger = module.fit(task.train, task.labels, config, **({"pairs_of": pairs_of} if pairs_of else {}))
    dense = tagger.stages["dense"]
    assert isinstance(dense, Dense)
    encoder = dense.encoder
    assert isinstance(encoder, BiEncoder)
    if task.encoder != "static":
        encoder.model.max_seq_length = BiEncoder.load(task.encoder).model.max_seq_length
    return plain(task, partial(BiEncoder.of, encoder.trainable()))


def table_4(task: Task, parts: Sequence[str], **options: Any) -> Tagger:
    """MACLR with these parts switched on, and other options."""
    two_stages = "encoder_pairs" in parts or "tfidf_pairs" in parts
    switches = {part: part in parts for part in (*STAGE_1, "encoder_pairs", "tfidf_pairs")}
    return learnt(task, maclr, 0.5 if two_stages else 1.0, exclude_self=task.exclude_self, **switches, **options)


def tfidf(task: Task, k: int) -> Lexical:
    return Lexical(task.labels, LexicalOptions(weighting="tfidf", k=k, stem="auto"))


def xr_linear(task: Task) -> Tagger:
    """Parabel, with the first labels of TF-IDF for right ones (MACLR, Table 2)."""
    stage = tfidf(task, PSEUDO + 1)
    found = Run.concat([stage(batch) for batch in batches(task.train)])
    return rows.parabel(task, task.train, task.without_self(task.train, found).top(PSEUDO))


def few_shot(task: Task, start: str, kind: str, share: float) -> Tagger:
    gold = task.without_self(task.train, task.labels.gold(task.train, unknown="ignore"))
    few = sample_labels(gold, len(task.labels), share) if kind == "labels" else sample_pairs(gold, share)
    return maclr.fine_tune(task.train, task.labels, model=task.tagger(start), gold=few)


def fused(task: Task) -> Tagger:
    dense = task.tagger(RTS).stages["dense"]
    assert isinstance(dense, Dense)
    trained = Dense(task.labels, dense.encoder, DenseOptions(k=500))
    return fuse(zero_shot.fit(task.labels), Tagger(task.labels, {"dense": trained}))


RTS, ICT, BOTH, FULL = "RTS", "ICT (MACLR 1)", "MACLR 4: clusters, labels", "MACLR 7: all"
ZEROSHOT = "zero-shot"
STAGE_1 = ("clustering", "label_regularisation")
ALL_PARTS = (*STAGE_1, "encoder_pairs", "tfidf_pairs")

ROWS: Mapping[str, tuple[Fit, tuple[str, ...]]] = {
    "plain static": (partial(plain, encoder=lambda: BiEncoder.load("static")), ()),
    "plain MiniLM": (partial(plain, encoder=BiEncoder.load), ()),
    RTS: (partial(learnt, module=rts), ("plain static", "plain MiniLM")),
    "RTS, fixed segments": (partial(learnt, module=rts, segmentation="fixed"), (RTS,)),
    "RTS, natural segments": (partial(learnt, module=rts, segmentation="natural"), (RTS,)),
    "RTS, no label pairs": (partial(learnt, module=rts, label_pairs=False), (RTS,)),
    "RTS, title pairs only": (partial(learnt, module=rts, label_pairs=False, segment_pairs=False), (RTS,)),
    "RTS, no title pairs": (partial(learnt, module=rts, title_pairs=False), (RTS,)),
    "RTS, no segment pairs": (partial(learnt, module=rts, segment_pairs=False), (RTS,)),
    "RTS, no groups": (partial(learnt, module=rts, groups=False), (RTS,)),
    "TF-IDF": (lambda task: Tagger(task.labels, {"tfidf": tfidf(task, rows.DEPTH + 1)}), ()),
    "XR-Linear on TF-IDF's labels": (xr_linear, ("TF-IDF",)),
    "SimCSE": (partial(learnt, module=contrastive, pairs_of=contrastive.simcse_pairs), ("plain static",)),
    ICT: (partial(learnt, module=contrastive), ("plain static", "SimCSE")),
    "MACLR 2: clusters": (partial(table_4, parts=STAGE_1[:1]), (ICT,)),
    "MACLR 3: labels": (partial(table_4, parts=STAGE_1[1:]), (ICT,)),
    BOTH: (partial(table_4, parts=STAGE_1), (ICT,)),
    "MACLR 5: 4 and encoder": (partial(table_4, parts=(*STAGE_1, "encoder_pairs")), (BOTH,)),
    "MACLR 6: 4 and TF-IDF": (partial(table_4, parts=(*STAGE_1, "tfidf_pairs")), (BOTH,)),
    FULL: (partial(table_4, parts=ALL_PARTS), (ICT, BOTH, RTS)),
    "MACLR 7, 2,048 clusters": (partial(table_4, parts=ALL_PARTS, clusters=2048), (FULL,)),
    **{
        f"RTS, 1/{part} of the batches": (partial(learnt, module=rts, share=1 / part), (FULL,))
        for part in (2, 4, 8, 16)
    },
    ZEROSHOT: (lambda task: zero_shot.fit(task.labels), ()),
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
    parser = corpora.parser("unsupervised", __doc__, corpora=["mdn", "tib"], work=True)
    parser.add_argument("--rows", nargs="+", choices=tuple(ROWS), default=list(ROWS), metavar="ROW")
    parser.add_argument("--encoder", default="static", help="what is trained")
    parser.add_argument("--steps", type=int, default=STEPS, help="batches of a trained row")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    for name in options.corpora:
        work = options.work / f"{options.encoder} {options.steps}"
        task = Task(name, work, options.encoder, options.steps)
        for row in options.rows:
            if not task.is_measured(row):
                measure(row, task)
            heading = f"{name}, {options.encoder}"
            rows.add(options.output, task, row, heading, {"steps": options.steps}, ROWS[row][1], TESTED)


def measure(row: str, task: Task) -> None:
    rows.measure(task, row, partial(ROWS[row][0], task), MEASURES)
