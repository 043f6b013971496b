"""Measure how fast this machine is, from which `train auto` predicts its time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tagwright.auto.combiner import CombinerOptions, Examples, train_ranker
from tagwright.combining.candidate_features import CandidateFeatures
from tagwright.combining.ranking_trees import BoostingOptions
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.stages.dense import Dense
from tagwright.tagger import Tagger
from tagwright.types import Document

CALIBRATION = 16
"Documents, and labels, that are read to see how fast this machine is."

FEW = 4
"Documents that are read instead while labels are not encoded yet: for each, up to 200 labels are encoded."

PROBE = CombinerOptions(trees=BoostingOptions(trees=12))
"A tenth of the trees of a combiner is grown to see how fast this machine is."

WHOLE = 6.5
"How many times longer training with all trees takes."

TRAINED = 0.76, 0.015
"""Seconds to train on n documents, divided by those for the 16 that are read: a constant, and a part for each document.
This and `WHOLE` were measured with 16 to 1,000 documents of 100 candidates, 35 and 60 features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Seconds on this machine, if it does nothing else.

    label, document: to encode one. find: to find and rank the candidates of a document; describe: to compute their
    features. train: to train a combiner on `CALIBRATION` documents. start: the seconds that have passed already.
    """

    label: float = 0.0
    document: float = 0.0
    find: float = 0.0
    describe: float = 0.0
    train: float = 0.0
    start: float = 0.0


def calibrate(
    tagger: Tagger, documents: Sequence[Document], *, encoded: bool, too_slow: Callable[[Rates], bool] = lambda _: False
) -> Rates:
    """Measure the speed of this machine, by tagging a few documents and learning from them once.

    Labels of documents are not read: the combiner is trained as if the first candidate of each were right. encoded:
    whether the vectors of all documents are known, so that it does not matter how long encoding one takes. too_slow:
    whether encoding alone takes too long; nothing else is measured then.
    """
    some = [documents[place] for place in np.linspace(0, len(documents) - 1, CALIBRATION, dtype=int)]
    dense = next((stage for stage in tagger.retrievers.values() if isinstance(stage, Dense)), None)
    label = document = 0.0
    if dense and dense.missing:
        places = np.linspace(0, len(tagger.vocabulary) - 1, CALIBRATION, dtype=int)
        labels = [tagger.vocabulary[place] for place in places.tolist()]
        label = _to_encode(dense, [text for each in labels for text in dict.fromkeys(dense.texts_of(each))])
    if dense and not encoded:
        document = _to_encode(dense, [each.read_as(dense.options.text_field) for each in some])
    if (label or document) and too_slow(encoding := Rates(label=label, document=document)):
        return encoding
    some = some[:FEW] if dense and dense.missing else some  # labels are encoded for it that no cache knows
    assert isinstance(tagger.combiner, WeightedSum)
    described = CandidateFeatures(replace(tagger.combiner, confidence="none"), tagger.vocabulary)
    pool = tagger.candidates(some)  # what is loaded once, and texts that are encoded now, are not part of the rates
    run = described.candidates(pool)
    features = described.describe(pool, run)
    examples = Examples(run, features, run.top(1), len(tagger.vocabulary))
    quarter = some[: len(some) // 4]
    more = timed(lambda: described.candidates(tagger.candidates(some)))
    less = timed(lambda: described.candidates(tagger.candidates(quarter)))
    return Rates(
        label=label,
        document=document,
        find=max(0.0, more - less) / (len(some) - len(quarter)),  # of one more: batches are larger than a probe
        describe=timed(lambda: described.describe(pool, run)) / len(some),
        train=WHOLE * _to_probe(examples) * growth(CALIBRATION) / growth(len(some)),
    )


def timed(work: Callable[[], object]) -> float:
    """Return the seconds taken: the lesser of wall and processor time.

    The wall says how much faster several cores are, the processor what other programs do not slow down.
    """
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return min(time.perf_counter() - wall, time.process_time() - processor)


def growth(documents: int) -> float:
    """Seconds to train on this many documents, divided by those for `CALIBRATION`."""
    constant, each = TRAINED
    return constant + each * documents


def _to_probe(examples: Examples) -> float:
    if not len(examples.run.labels):
        return 0.0
    train_ranker(examples.take(np.arange(2)), PROBE)  # scikit-learn is loaded
    return min(timed(lambda: train_ranker(examples, PROBE)) for _ in range(2))


def _to_encode(dense: Dense, texts: Sequence[str]) -> float:
    """Seconds for one of `CALIBRATION` documents or labels."""
    encode = getattr(dense.encoder, "encode_raw", dense.encoder.encode)
    encode(texts[:1])  # what is loaded once is not part of the rate
    return timed(lambda: encode(texts)) / CALIBRATION
