"""Plan `train auto`: which stages pay on these data, why, and what they will cost.

`evaluation.advice.STAGES` says from how many labelled documents on a stage is tried.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.auto.combiner import CombinerOptions
from tagwright.auto.speed import Rates, growth
from tagwright.core.workers import usable_cores
from tagwright.data.gold import excludes_self
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.device import uses_gpu
from tagwright.evaluation.advice import STAGES
from tagwright.stages.dense import Dense
from tagwright.types import Document, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What the data hold.

    documents, labelled: how many there are, and how many of them have labels. unread: how many have a title and text,
    and are not among those that the combiner learns from. labels, described, used: how many the vocabulary has, has
    descriptions of, and labelled documents have. sections, metadata: how many documents have any.
    characters: of a document, on average. exclude_self: whether documents are labels too, and never labels of
    themselves. encoders: stages that have one. language: "english". device: "cpu".
    """

    documents: int
    labelled: int = 0
    unread: int = 0
    labels: int = 0
    described: int = 0
    used: int = 0
    sections: int = 0
    metadata: int = 0
    characters: float = 0.0
    exclude_self: bool = False
    encoders: int = 0
    language: str = ""
    device: str = "cpu"

    def __str__(self) -> str:
        held = [f"{self.documents:,} documents, {self.labelled:,} with labels"]
        held += [f"{self.sections:,} with sections"] * bool(self.sections)
        held += [f"{self.metadata:,} with metadata"] * bool(self.metadata)
        held += [f"{self.labels:,} labels, {self.described:,} described"]
        return "; ".join([*held, f"language {self.language}", self.device])


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The amount of work. encode_labels, encode_documents: numbers not in the cache. corpus, examples: documents.

    encode_labelled: labelled documents besides these that are not in the cache. folds: how many SVMs are trained
    besides the last one.
    """

    encode_labels: int
    encode_documents: int
    encode_labelled: int = 0
    corpus: int
    examples: int
    folds: int = 0


COMBINER_STAGES = 1.5
"How many times longer all stages of a combiner take than those of the zero-shot method, which are probed."

GROUPS_COMPARED = 1.2
"How many times longer fitting takes with finding out what each group of features brought."

SVM_LABEL, SVM_DOCUMENT = 0.002, 1.8e-7
"Seconds for a label, and for each document besides, on one core of the machine of benchmarks/results/linear.json."

DEPL_CLS_DOCUMENT = 0.01
"Seconds for a labelled document from which DEPL+cls learns, on one core of the same machine."

KNN = 3e-8
"Seconds to compare a document with a labelled one by words, or by vectors, on one core of the same machine."

RTS_STEPS = 100
"Batches of 1,024 pairs from which RTS learns: with 400 `auto` was no better on train documents of mdn."

RTS_START, RTS_STEP = 8.0, 0.1
"""Seconds before the first batch, in which torch is loaded, and for each batch that RTS learns from, on one core of the
same machine. The first training on a machine takes ten seconds more, in which the static encoder is distilled."""

TRAINED_STAGES_ONLY = 1000
"""From this many labelled documents on, a combiner without the stages that are trained on labels is not tried: training
it takes as long again, and with all labels of mdn and tib even the fixed sum with them was above such a combiner of 300
documents by 9 points and more; between 300 and 6,000 that was not measured."""

BASE_MB = 850.0
"Memory of Python, torch, the packaged encoder and a batch of candidates, measured on 22 November 2026."

LABEL_MB = 0.005
"Memory for each label: its words, its names in the trie, its vector; measured on the same day."

CANDIDATES, FEATURES = 100, 60
"Candidates of a document that a combiner ranks, and about how many features each has."


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be done. seconds: of each stage, as predicted. left_out: stage -> why.

    too_slow: those of them for which the data would do, but not the time.
    """

    holdings: Holdings
    stages: tuple[str, ...]
    work: Work
    seconds: Mapping[str, float]
    memory: float
    disk: float
    left_out: Mapping[str, str]
    too_slow: frozenset[str]

    def lines(self) -> list[str]:
        """What will be done and why, and what it costs, for people."""
        rows = {row.name: row for row in STAGES}
        said = [f"the data: {self.holdings}"]
        said += [f"{name}, about {duration(self.seconds[name])}: {rows[name].why}" for name in self.stages]
        said += [f"without {stage}: {why}" for stage, why in self.left_out.items()]
        total = duration(sum(self.seconds.values()))
        return [*said, f"in all about {total}, {size(self.memory)} of memory, {size(self.disk)} on disk"]


def survey(
    documents: Iterable[Document], labels: Vocabulary, gold: Run, language: str, learned_from: Sequence[int] = ()
) -> Holdings:
    """What the data hold, in one pass. gold: a row for each document; a row without labels is of an unlabelled one.

    learned_from: places of the documents that the combiner learns from.
    """
    characters = sections = metadata = unread = count = 0
    own, read = [], set(learned_from)
    for document in documents:
        unread += count not in read and bool(document.title and (document.abstract or document.sections))
        count += 1
        characters += len(document.text)
        sections += bool(document.sections)
        metadata += bool(document.metadata)
        own.append(labels.index.get(document.id, -1))
    labelled = int((np.diff(gold.indptr) > 0).sum())
    return Holdings(
        documents=count,
        labelled=labelled,
        unread=unread,
        labels=len(labels),
        described=sum(bool(label.description) for label in labels),
        used=len(np.unique(gold.labels)),
        sections=sections,
        metadata=metadata,
        characters=characters / max(1, count),
        exclude_self=excludes_self(np.array(own, np.int64), gold),
        language=language,
        device="cuda" if uses_gpu() else "cpu",
    )


def not_encoded(dense: Dense, documents: Sequence[Document]) -> int:
    """Number of different texts of documents that are not in the encoder's cache."""
    texts = list({document.read_as(dense.options.text_field): None for document in documents})
    known = getattr(dense.encoder, "known", None)
    return len(texts) - int(known(texts, "query")[1].sum()) if known else len(texts)


def plan(holdings: Holdings, work: Work, rates: Rates, minutes: float, *, dim: int = 384) -> Plan:
    """The stages that pay by the table and fit into the time, in its order; what does not fit is left out.

    dim: of the encoder's vectors.
    """
    costs = predict(holdings, work, rates)
    held = {"labelled": holdings.labelled, "unread": holdings.unread, "encoders": holdings.encoders}
    stages, left_out, too_slow, spent = list[str](), dict[str, str](), set[str](), 0.0
    for row in STAGES:
        if lacking := row.lacking(held):
            left_out[row.name] = lacking
        elif row.needs and spent + costs[row.name] > 60 * minutes:
            too_slow.add(row.name)
            left_out[row.name] = f"about {duration(costs[row.name])}, of {minutes:g} minutes {duration(spent)} are used"
        else:
            stages.append(row.name)
            spent += costs[row.name]
    kept = {stage: costs[stage] for stage in stages}
    memory, disk = _megabytes(holdings, work, stages, dim)
    return Plan(
        holdings=holdings,
        stages=tuple(stages),
        work=work,
        seconds=kept,
        memory=memory,
        disk=disk,
        left_out=left_out,
        too_slow=frozenset(too_slow),
    )


def _megabytes(holdings: Holdings, work: Work, stages: Sequence[str], dim: int) -> tuple[float, float]:
    """Memory and disk. A text takes 4 bytes a character; the SVM stores about 2,000 bytes for a label."""
    learned = "combiner" in stages
    cells = learned * (work.corpus + work.examples) * CANDIDATES * FEATURES
    memory = BASE_MB + holdings.labels * LABEL_MB + (8 * cells + work.corpus * dim * 8) / 1e6
    disk = (holdings.labels * (2 * dim + 200) + learned * work.corpus * (2 * dim + 800)) / 1e6
    if "svm" in stages:
        memory += holdings.labelled * holdings.characters * 4 / 1e6
        disk += holdings.used * 2000 / 1e6
    return memory, disk


def predict(holdings: Holdings, work: Work, rates: Rates) -> dict[str, float]:
    """Stage -> seconds.

    Ten labels at 0.1 s are a second.

    >>> work = Work(encode_labels=10, encode_documents=0, corpus=0, examples=0)
    >>> round(predict(Holdings(documents=5), work, Rates(label=0.1))["zero_shot"], 1)
    1.0
    """
    each = holdings.used * (SVM_LABEL + SVM_DOCUMENT * holdings.labelled) / usable_cores()
    find, describe = COMBINER_STAGES * rates.find, COMBINER_STAGES * rates.describe
    fit = (CombinerOptions().folds + 1) * rates.train * growth(work.examples)
    return {
        "zero_shot": rates.start + work.encode_labels * rates.label,
        "combiner": work.encode_documents * rates.document
        + work.corpus * find
        + work.examples * (find + describe)
        + GROUPS_COMPARED * fit,
        "svm": (work.folds + 1) * each
        + work.examples * (find + describe)
        + fit * (holdings.labelled < TRAINED_STAGES_ONLY),
        "knn": work.examples * holdings.labelled * KNN,
        "rts": RTS_START + RTS_STEPS * RTS_STEP + work.examples * describe,
        "depl_cls": (work.folds + 1) * DEPL_CLS_DOCUMENT * holdings.labelled + work.examples * describe,
        "knn_dense": work.encode_labelled * rates.document + work.examples * holdings.labelled * KNN,
    }


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(7.4), duration(240.0)
    ('7 s', '4 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def size(megabytes: float) -> str:
    """Megabytes for people.

    >>> size(12.3), size(2345.0)
    ('12 MB', '2.3 GB')
    """
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"
