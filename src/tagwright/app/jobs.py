"""What the commands do, without printing: files and options in, runs and scores out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from tagwright import tasks
from tagwright.app.options import configure, in_language
from tagwright.data.corpus import Corpus
from tagwright.data.descriptions import keyword_records, with_keywords
from tagwright.data.in_memory import to_vocabulary
from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.evaluation.metrics import is_gold, label_counts
from tagwright.evaluation.report import write_per_label
from tagwright.evaluation.scores import Scores, per_label
from tagwright.evaluation.significance import Comparison
from tagwright.evaluation.significance import compare as test
from tagwright.graph.meta_path import possible
from tagwright.graph.neighbours import Neighbours
from tagwright.graph.network import Coverage, Graph
from tagwright.methods import depl, zeroshot
from tagwright.progress import bar, hint
from tagwright.readers.columns import parse_columns
from tagwright.readers.files import Format, open_sources
from tagwright.readers.records import Located
from tagwright.stages.dense import Dense
from tagwright.stages.network_evidence import sharing
from tagwright.store import read_manifest
from tagwright.suggestions import Suggestion, suggestions
from tagwright.tagger import Tagger, batches
from tagwright.tasks import DEPTH, Task, without
from tagwright.types import Document, Longs, Run

_log = logging.getLogger(__name__)

CEILINGS = (10, 50, 100, 500)
"Numbers of candidates at which the recall of a stage is reported."


@dataclass(frozen=True, slots=True)
class Shared:
    """How many of a document's neighbours over a meta-path are suggested the same label, and ids of the first few."""

    path: str
    neighbours: int
    sharing: int
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suggested(Suggestion):
    """A suggestion with the neighbours that share the label, where they were asked for."""

    neighbours: tuple[Shared, ...] = ()


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a stage can reach. recall: k -> share of all gold labels among its first k candidates.

    all: the same for all its candidates. mean_size: candidates per document.
    """

    recall: Mapping[int, float]
    all: float
    mean_size: float


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Every stage and their union; missed: label -> gold occurrences that no stage reaches, most first."""

    documents: int
    stages: Mapping[str, Ceiling]
    missed: Mapping[int, int]


def tagger(
    model: Path | None,
    labels: Path | None,
    language: str,
    settings: Sequence[str],
    documents: Sequence[Document] = (),
) -> Tagger:
    """A saved tagger, over another vocabulary if one is given, or else the zero-shot method.

    documents: what is to be tagged; their language counts where none is given.
    """
    if model and settings:
        raise ConfigError("--set changes the zero-shot method; a saved tagger (--model) keeps its configuration")
    if not model:
        config = configure(zeroshot.Config, settings=in_language(settings, language))
        made = zeroshot.fit(_vocabulary(labels, config.language, documents), config, documents)
        stages = made.combiner.describe(made.stages)
        hint(f"no --model, so the zero-shot method, which needs no training: stages and weights {stages}")
        return made
    vocabulary = to_vocabulary(labels, language, documents) if labels else None  # before anything heavy is loaded
    saved = Tagger.load(model)
    return saved.with_labels(vocabulary) if vocabulary else saved


def read(docs: Sequence[str], columns: str = "", input_format: str = "") -> Corpus:
    """The documents, read and checked: before a vocabulary is read, let alone encoded.

    columns, input_format: what `--columns` and `--input-format` say. Raises ConfigError, InputError.
    """
    return Corpus.read(*docs, format=_format(input_format), columns=parse_columns(columns))


def sources(docs: Sequence[str], columns: str = "", input_format: str = "") -> Iterator[tuple[str, Iterator[Located]]]:
    """The same file by file, as far as they can be read."""
    return open_sources(*docs, format=_format(input_format), columns=parse_columns(columns))


def _format(name: str) -> Format | None:
    return cast("Format", name) if name else None  # a name that is none is refused where the readers are


def suggest(
    tagger: Tagger, corpus: Corpus, k: int, *, exclude_self: bool, explain: bool, paths: Sequence[str] = ()
) -> Iterator[tuple[Document, list[Suggested]]]:
    """Each document with its k best labels, tagged and passed on batch by batch.

    paths: meta-paths whose neighbours are part of the explanation; then all documents are tagged before the first is
    passed on, and a neighbour is named by its id.
    """
    if paths and not explain:
        raise ConfigError("--path says which neighbours explain a label; add --explain")
    graph, ids = (Graph.of(corpus), corpus.ids) if paths else (None, [])
    joined = [graph.follow(path) for path in paths] if graph else []
    whole = _best(tagger, corpus, k, exclude_self) if joined else None
    place = 0
    for batch in batches(corpus):
        run = whole.take(range(place, place + len(batch))) if whole else _best(tagger, batch, k, exclude_self)
        for row, (document, named) in enumerate(zip(batch, suggestions(run, tagger.vocabulary), strict=True)):
            labels = run[row][0].tolist()
            evidence = tagger.evidence(document, labels) if explain else [()] * len(labels)
            shared = [_shared(ids, joined, whole, place + row, label) if whole else () for label in labels]
            rows = zip(named, evidence, shared, strict=True)
            found = [Suggested(one.id, one.name, one.score, one.confidence, why, near) for one, why, near in rows]
            yield document, found
        place += len(batch)


def _shared(ids: Sequence[str], paths: Sequence[Neighbours], run: Run, document: int, label: int) -> tuple[Shared, ...]:
    return tuple(
        Shared(each.path, each.neighbours, each.sharing, tuple(ids[near] for near in each.documents))
        for each in sharing(paths, run, document, label)
    )


def _best(tagger: Tagger, documents: Sequence[Document], k: int, exclude_self: bool) -> Run:
    own = _own(documents, tagger.vocabulary, exclude_self)
    return without(tagger.tag(documents, k + exclude_self), own).top(k)


def task(
    corpus: Corpus,
    labels: Path | None,
    language: str,
    model: Path | None,
    train: Corpus | None,
    exclude_self: bool,
    skip_unlabelled: bool,
    unknown: Unknown = "warn",
) -> Task:
    """What is to be scored, with the labels of a file or of a saved tagger. Raises InputError, see `tasks.task`."""
    if model and not labels:
        read_manifest(model, "tagger")  # says what is wrong if there is no tagger
        labels = model / "labels.jsonl"
    vocabulary = _vocabulary(labels, language, corpus)
    return tasks.task(
        corpus, vocabulary, train, exclude_self=exclude_self, skip_unlabelled=skip_unlabelled, unknown=unknown
    )


def read_run(path: Path, task: Task) -> Run:
    """A run file over the documents of the task; the file may hold the documents that are not scored too."""
    from tagwright.data import run_files

    run = run_files.read_run(path, task.corpus.ids, task.vocabulary.index)
    depth = int(run.ranks.max(initial=0))
    if depth < min(DEPTH, len(task.vocabulary) - 1):
        _log.warning(
            "%s holds at most %d labels per document: measures beyond @%d take the rest as missed; suggest -k %d "
            "writes enough", path, depth, depth, DEPTH,
        )  # fmt: skip
    return without(run.take(task.kept), task.own)


def evaluate(run: Run, task: Task, per_label_file: Path | None = None) -> Scores:
    """Score a run; per_label_file: where to write the scores of every label."""
    if per_label_file:
        rows = per_label(run, task.gold, train=task.train)
        write_per_label(rows, [(label.id, label.name) for label in task.vocabulary], per_label_file)
    return tasks.score(run, task)


def compare(a: Run, b: Run, task: Task) -> Comparison:
    """Compare two runs over the documents of the task."""
    return test(a, b, task.gold, train=task.train)


def ceilings(tagger: Tagger, task: Task) -> Ceilings:
    """How many gold labels each retriever holds among its candidates, however they are ranked."""
    parts: dict[str, list[Run]] = {name: [] for name in (*tagger.retrievers, "union")}
    for batch in task.batches():
        pool = tagger.candidates(batch)
        for name, run in {**pool.found, "union": tagger.rank(pool)}.items():
            parts[name].append(run)
    runs = {name: without(Run.concat(part), task.own) for name, part in parts.items()}
    reached = is_gold(task.gold, runs["union"])
    missed = label_counts(task.gold.keep(~reached), len(task.vocabulary))
    order = np.argsort(-missed, kind="stable")[: int((missed > 0).sum())]
    return Ceilings(
        documents=len(task.kept),
        stages={name: _ceiling(run, task.gold) for name, run in runs.items()},
        missed={int(label): int(missed[label]) for label in order},
    )


def labels(model: Path, keywords: int | None, *, described: bool = False) -> Iterable[Mapping[str, Any]]:
    """The labels of a saved tagger as records, or the keywords by which its linear classifier knows them, or both."""
    if described and keywords is None:
        raise ConfigError("--described puts keywords into the descriptions; say how many: --keywords 20")
    tagger = Tagger.load(model)
    words = {} if keywords is None else depl.keywords_of(tagger, keywords)
    if described or keywords is None:
        return map(asdict, with_keywords(tagger.vocabulary, words))
    return keyword_records(tagger.vocabulary, words)


def encode_labels(labels: Path | None, language: str, settings: Sequence[str]) -> int:
    """Encode all labels that the zero-shot method has not encoded yet, into the cache; how many there are."""
    made = tagger(None, labels, language, settings, ())
    for stage in made.stages.values():
        if isinstance(stage, Dense):
            stage.encode_labels()
    return len(made.vocabulary)


def coverages(corpus: Corpus, paths: Sequence[str]) -> list[Coverage]:
    """What each meta-path joins; without any, all that the documents allow. Raises InputError when they allow none."""
    graph = Graph.of(corpus)
    found = [graph.follow(path).expression for path in paths] or possible(graph.fields)
    if not found:
        raise InputError(f"none of the {graph.documents} documents has metadata, so no meta-path joins them")
    with bar("measuring meta-paths", len(found)) as done:
        measured = []
        for path in found:
            measured.append(graph.coverage(path))
            done(1)
    return measured


def neighbours(corpus: Corpus, path: str) -> Iterator[tuple[str, list[str]]]:
    """The id of each document, and of those that the meta-path joins it with."""
    ids = corpus.ids
    for id_, row in zip(ids, Graph.of(corpus).follow(path), strict=True):
        yield id_, [ids[each] for each in row]


def _ceiling(run: Run, gold: Run) -> Ceiling:
    hits, ranks = is_gold(run, gold), run.ranks
    recall = {k: float(hits[ranks <= k].sum() / len(gold.labels)) for k in CEILINGS}
    return Ceiling(recall, all=float(hits.sum() / len(gold.labels)), mean_size=len(run.labels) / len(run))


def _vocabulary(labels: Path | None, language: str, documents: Sequence[Document]) -> Vocabulary:
    if labels is None:
        raise ConfigError("which labels? give a vocabulary (--labels FILE) or a saved tagger (--model DIR)")
    return to_vocabulary(labels, language, documents)


def _own(documents: Sequence[Document], vocabulary: Vocabulary, exclude_self: bool) -> Longs:
    return vocabulary.own(documents) if exclude_self else np.full(len(documents), -1, np.int64)
