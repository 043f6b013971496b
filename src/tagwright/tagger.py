"""The tagger: candidate stages over one vocabulary and their fusion. Documents in, Run out, with the reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, overload

from tagwright.combining.fusion import Weight, followed, reciprocal_ranks, standard_scores, summed_evidence, union
from tagwright.data.in_memory import Labels, Texts, is_single, to_documents, to_vocabulary
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError, ModelError
from tagwright.progress import silence
from tagwright.stages.dense import Dense
from tagwright.stages.description_retriever import DescriptionRetriever
from tagwright.stages.exact_match import ExactMatch
from tagwright.stages.full_text import FullText
from tagwright.stages.lexical import Lexical
from tagwright.stages.linear_classifiers import Linear, Trees
from tagwright.stages.network_evidence import NetworkEvidence
from tagwright.stages.reranker import Reranker
from tagwright.stages.title_match import TitleMatch, share
from tagwright.stages.trust import report
from tagwright.store import (
    check_files,
    digests,
    is_folder_name,
    read_manifest,
    read_options,
    read_whole,
    replace_folder,
    write_manifest,
)
from tagwright.types import Document, EvidenceSpan, Run, Stage

KINDS: Mapping[str, Any] = {
    kind.__name__: kind
    for kind in (ExactMatch, TitleMatch, Lexical, Dense, Reranker, DescriptionRetriever, FullText, Linear, Trees)
}
"""The closed table of what a saved tagger may hold; each has a `load(folder, labels)`."""

By: TypeAlias = Literal["evidence", "scores", "ranks"]

BATCH = 1024
"Documents that are in memory at once, with their candidates from every stage."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How the opinions of several stages become one ranking."""

    by: By = "evidence"
    """evidence, scores: every stage scores the candidates of all, and the logarithms of the evidence, or the standard
    scores, are added. ranks: reciprocal ranks are added."""

    weights: Mapping[str, float] = field(default_factory=dict)
    "Stage -> weight; 1 for a stage that is not named. A stage of weight 0 finds candidates and is not asked again."

    fluency: Mapping[str, str] = field(default_factory=dict)
    """Stage -> the dense stage by whose trust its weight is multiplied, document by document: how well that one's
    encoder knows the language of the text."""

    rank_constant: float = 60.0
    "60 is the constant of Cormack et al. 2009; 0 gives FuTex Eq. 9."

    rankers: tuple[str, ...] = ()
    "Stages that find nothing and score what the others find: re-ranking."

    budget: int | None = None
    "The most candidates of a document that are scored, the best by reciprocal ranks of those who found them."

    tail: str = ""
    "A stage whose labels follow after the fused ones in its own order; it has no other say (FuTex 3.3)."

    keep: int | None = None
    "How many fused labels stay before those of the tail; None: all."

    def __post_init__(self) -> None:
        if self.by not in get_args(By):
            raise ConfigError(f'fusion by "{self.by}": expected "evidence", "scores" or "ranks"')
        numbers = {**self.weights, "rank_constant": self.rank_constant}
        if not all(0 <= number < math.inf for number in numbers.values()):
            raise ConfigError(f"fusion with {numbers}: expected finite numbers of 0 or more")
        for name in ("budget", "keep"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}, expected at least 1, or none for all")

    def weight(self, stage: str) -> float:
        """How much a stage counts among those that score the candidates."""
        return 0.0 if stage == self.tail else self.weights.get(stage, 1.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why one stage suggests a label: its rank (from 1) and score there, and what in the text speaks for it."""

    stage: str
    rank: int
    score: float
    spans: tuple[EvidenceSpan, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One suggested label of a document: its id, preferred name and score, best first in a list of them.

    score: of the tagger's own scale, to be compared within a tagger. confidence: the probability that the label is
    right, from 0 to 1; None as long as it is not estimated. evidence: why, where it was asked for, stage by stage.
    neighbours: the documents that share the label, for each meta-path that was asked for.
    """

    id: str
    name: str
    score: float
    confidence: float | None = None
    evidence: tuple[Evidence, ...] = ()
    neighbours: tuple[NetworkEvidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Tagger:
    """Stages over one vocabulary, fused. Labels are data: exchanging them needs no training."""

    vocabulary: Vocabulary
    stages: Mapping[str, Stage]
    fusion: Fusion = field(default_factory=Fusion)
    training: Mapping[str, Any] = field(default_factory=dict)
    "How it came to be: method, options with what auto stood for, machine, date. Plain JSON, kept for the reader."

    def __post_init__(self) -> None:
        if not self.stages:
            raise ConfigError("a tagger without stages suggests nothing: name at least one")
        for name in self.stages:
            if not is_folder_name(name):
                raise ConfigError(f"a stage is called {str(name)[:100]!r}, expected a name that a folder can have")
        named = {*self.fusion.rankers, *filter(None, [self.fusion.tail])}
        if unknown := {*named, *self.fusion.fluency.values()} - self.stages.keys():
            raise ConfigError(
                f"fusion names the stages {', '.join(sorted(unknown))}, there are {', '.join(self.stages)}"
            )
        if named == self.stages.keys():
            raise ConfigError("no stage finds candidates: all are rankers or the tail")
        if not any(map(self.fusion.weight, self.stages)):
            raise ConfigError("every stage has weight 0: nothing ranks the candidates")

    def read(self, documents: Sequence[Document]) -> dict[str, Any]:
        """What each stage makes of a batch of documents, by the name of the stage: each document is read once."""
        return {name: stage.read(documents) for name, stage in self.stages.items()}

    def candidates(self, readings: Mapping[str, Any]) -> dict[str, Run]:
        """What each stage suggests on its own, by the name of the stage; rankers suggest nothing."""
        finders = (name for name in self.stages if name not in self.fusion.rankers)
        return {name: self.stages[name].find(readings[name]) for name in finders}

    def fuse(self, readings: Mapping[str, Any], candidates: Mapping[str, Run]) -> Run:
        """One ranking of all candidates; of a single stage, its own scores."""
        fused = self._ranked(readings, candidates)
        if not self.fusion.tail:
            return fused
        if self.fusion.keep is None:
            return followed(fused, candidates[self.fusion.tail])
        first = followed(fused.top(self.fusion.keep), candidates[self.fusion.tail])
        return followed(first, fused)  # what the tail does not know of comes last

    def tag(self, documents: Texts, k: int = 10) -> Run:
        """The k best labels of every document (fewer where the stages find fewer), in batches of bounded memory.

        Texts are documents too, and so is whatever `suggest` takes; one document is a run of one row.
        """
        return Run.concat([self._tag(batch).top(k) for batch in batches(to_documents(documents))])

    @overload
    def suggest(  # type: ignore[overload-overlap]  # a text is an iterable of texts, but means itself
        self, documents: str | Document, k: int = 10, *, min_score: float | None = None, progress: bool = True
    ) -> list[Suggestion]: ...
    @overload
    def suggest(
        self, documents: Texts, k: int = 10, *, min_score: float | None = None, progress: bool = True
    ) -> list[list[Suggestion]]: ...
    def suggest(
        self, documents: Texts, k: int = 10, *, min_score: float | None = None, progress: bool = True
    ) -> list[Suggestion] | list[list[Suggestion]]:
        """The k best labels of a document, best first; of several documents, a list of such lists.

        documents: a text or Document; or texts, Documents, records, a column or table (pandas, polars, Arrow, Hugging
        Face), a Corpus, a Path to read. min_score: leave out what scores less. progress: show progress bars on a
        terminal. Raises InputError for what is no document.

        >>> from tagwright.methods import zeroshot
        >>> config = zeroshot.Config(stages=("exact_match", "tfidf"), language="english")
        >>> tagger = zeroshot.fit(Vocabulary(["Bees", "Orchards", "Tax law"]), config)
        >>> [each.name for each in tagger.suggest("Honey bees visit apple orchards.", k=3)]
        ['Bees', 'Orchards']
        """
        return self._suggest(documents, k, min_score, progress, explained=False)

    @overload
    def explain(  # type: ignore[overload-overlap]
        self, documents: str | Document, k: int = 10, *, min_score: float | None = None, progress: bool = True
    ) -> list[Suggestion]: ...
    @overload
    def explain(
        self, documents: Texts, k: int = 10, *, min_score: float | None = None, progress: bool = True
    ) -> list[list[Suggestion]]: ...
    def explain(
        self, documents: Texts, k: int = 10, *, min_score: float | None = None, progress: bool = True
    ) -> list[Suggestion] | list[list[Suggestion]]:
        """The same suggestions as `suggest`, each with its evidence: the stages that suggest it, and what they quote.

        >>> from tagwright.methods import zeroshot
        >>> config = zeroshot.Config(stages=("exact_match", "tfidf"), language="english")
        >>> tagger = zeroshot.fit(Vocabulary(["Bees", "Orchards", "Tax law"]), config)
        >>> best, *_ = tagger.explain(text := "Honey bees visit apple orchards.")
        >>> [(each.stage, text[each.spans[0].start : each.spans[0].end]) for each in best.evidence]
        [('exact_match', 'bees'), ('tfidf', 'bees')]
        """
        return self._suggest(documents, k, min_score, progress, explained=True)

    def evidence(self, document: Document, labels: Sequence[int]) -> list[tuple[Evidence, ...]]:
        """For each of these labels the evidence of every stage that suggests it for the document."""
        readings = self.read([document])
        runs = self.candidates(readings)
        pool = self._pool(runs)
        proposing = (name for name, stage in self.stages.items() if stage.budget is not None)
        runs |= {name: self._rescored(name, readings, pool) for name in {*self.fusion.rankers, *proposing}}
        places = {name: {label: rank for rank, label in enumerate(run[0][0].tolist())} for name, run in runs.items()}

        def of(name: str, label: int) -> Evidence:
            rank = places[name][label]
            return Evidence(name, rank + 1, float(runs[name].scores[rank]), self.stages[name].spans(document, label))

        return [tuple(of(name, label) for name in self.stages if label in places[name]) for label in labels]

    def with_labels(self, labels: Labels) -> Tagger:
        """The same tagger over other labels, given as to `zero_shot`: only new and changed ones are computed.

        To add some: `tagger.with_labels([*tagger.vocabulary, "Wasps"])`.
        """
        vocabulary = to_vocabulary(labels)
        stages = share({name: stage.with_labels(vocabulary) for name, stage in self.stages.items()})
        return replace(self, vocabulary=vocabulary, stages=stages)

    def restrict(self, ids: Iterable[str]) -> Tagger:
        """The same tagger over a part of its vocabulary, with memory for that part only."""
        return self.with_labels(self.vocabulary.restrict(ids))

    def save(self, folder: Path | str) -> None:
        """Save to a folder, which a killed save leaves as it was. Raises TagwrightError when it cannot be written."""
        with replace_folder(folder) as target:
            self.write(target)

    def write(self, folder: Path) -> None:
        """Write into an existing folder, which the caller puts in place atomically."""
        self.vocabulary.write(folder / "labels.jsonl")
        for name, stage in self.stages.items():
            (folder / name).mkdir()
            stage.save(folder / name)
        kinds = {name: type(stage).__name__ for name, stage in self.stages.items()}
        content = {"stages": kinds, "fusion": asdict(self.fusion), "training": self.training}
        write_manifest(folder, "tagger", {**content, "files": digests(folder)})

    @classmethod
    def load(cls, folder: Path | str) -> Tagger:
        """Load a saved tagger, the old or the new one if it is being replaced.

        Raises ModelError when the folder holds none or is damaged.
        """
        return read_whole(Path(folder), lambda: cls._read(Path(folder)))

    @classmethod
    def _read(cls, folder: Path) -> Tagger:
        manifest = read_manifest(folder, "tagger")
        kinds, training = manifest.get("stages"), manifest.get("training", {})
        if not isinstance(kinds, dict) or not all(map(is_folder_name, kinds)) or not isinstance(training, dict):
            raise ModelError(f"{folder}: is damaged (its stages have no proper names); save the tagger again")
        check_files(folder, manifest.get("files", {}))
        try:
            vocabulary = Vocabulary.read(folder / "labels.jsonl")
            stages = share({name: _load_stage(folder / name, kind, vocabulary) for name, kind in kinds.items()})
            return cls(vocabulary, stages, read_options(folder, Fusion, manifest.get("fusion")), training)
        except (ConfigError, InputError) as error:
            raise ModelError(f"{folder}: is damaged ({error}); save the tagger again") from None

    def named(self, labels: Sequence[int], scores: Sequence[float]) -> list[Suggestion]:
        """Suggestions of these labels (positions in the vocabulary) with these scores."""
        terms = map(self.vocabulary.__getitem__, labels)
        return [Suggestion(term.id, term.name, score) for term, score in zip(terms, scores, strict=True)]

    def _suggest(
        self, documents: Texts, k: int, min_score: float | None, progress: bool, *, explained: bool
    ) -> list[Suggestion] | list[list[Suggestion]]:
        if k < 1:
            raise ConfigError(f"k is {k}, expected at least 1")
        found: list[list[Suggestion]] = []
        with silence(not progress):
            for batch in batches(to_documents(documents)):
                run = self._tag(batch).top(k)
                run = run if min_score is None else run.keep(run.scores >= min_score)
                for document, (labels, scores) in zip(batch, run, strict=True):
                    row = self.named(labels.tolist(), scores.tolist())
                    reasons = self.evidence(document, labels.tolist()) if explained else [()] * len(row)
                    found.append([replace(one, evidence=why) for one, why in zip(row, reasons, strict=True)])
        return found[0] if is_single(documents) else found

    def _tag(self, documents: Sequence[Document]) -> Run:
        readings = self.read(documents)
        return self.fuse(readings, self.candidates(readings))

    def _pool(self, candidates: Mapping[str, Run]) -> Run:
        """What is to be ranked: what the stages found, but the tail's, within the smallest budget."""
        found = [run for name, run in candidates.items() if name != self.fusion.tail]
        budgets = (self.fusion.budget, *(stage.budget for stage in self.stages.values()))
        budget = min((each for each in budgets if each is not None), default=None)
        if budget is None:
            return union(found) if len(found) > 1 else found[0]
        return reciprocal_ranks(found).top(budget)

    def _ranked(self, readings: Mapping[str, Any], candidates: Mapping[str, Run]) -> Run:
        """The candidates in the order that all stages with a say agree on."""
        pool = self._pool(candidates)
        voters = {name: stage for name, stage in self.stages.items() if self.fusion.weight(name)}
        if pool is candidates.get(next(iter(voters))) and len(voters) == 1:
            return pool
        weights = self._weights(list(voters), readings, pool)
        if self.fusion.by == "ranks":
            found = {name: run for name, run in candidates.items() if self.stages[name].budget is None}
            opinions = [found.get(name) or self._rescored(name, readings, pool) for name in voters]
            return reciprocal_ranks(opinions, weights, self.fusion.rank_constant, pool)
        scores = [stage.score(readings[name], pool) for name, stage in voters.items()]
        if len(voters) == 1:
            return pool.rescored(scores[0])
        if self.fusion.by == "scores":
            return standard_scores(pool, scores, weights)
        return summed_evidence(pool, scores, [stage.distribution for stage in voters.values()], weights)

    def _weights(self, voters: Sequence[str], readings: Mapping[str, Any], pool: Run) -> list[Weight]:
        """What each stage counts among those that score the candidates, document by document where trust differs."""
        trusted = {}
        for name, stage in self.stages.items():
            if name in self.fusion.fluency.values() and isinstance(stage, Dense):
                trusted[name] = stage.trust(readings[name])
                report(stage.encoder.name, readings[name].beginnings, trusted[name], self.fusion.weight(name))

        def weight(name: str) -> Weight:
            judge = self.fusion.fluency.get(name)
            return self.fusion.weight(name) * (trusted[judge][pool.rows] if judge in trusted else 1.0)

        return list(map(weight, voters))

    def _rescored(self, name: str, readings: Mapping[str, Any], pool: Run) -> Run:
        """The pool in the order of a stage, but for what it has nothing to say of: equal zeros are no ranks."""
        stage = self.stages[name]
        run = pool.rescored(stage.score(readings[name], pool))
        return run if stage.distribution == "normal" else run.keep(run.scores > 0)


def batches(documents: Iterable[Document], size: int = BATCH) -> Iterator[list[Document]]:
    """Lists of at most `size` documents, in order."""
    rest = iter(documents)
    while batch := list(islice(rest, size)):
        yield batch


def _load_stage(folder: Path, kind: Any, vocabulary: Vocabulary) -> Stage:
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelError(f"{folder.parent}: holds a stage of kind {kind!r}, expected one of {', '.join(KINDS)}")
    stage: Stage = KINDS[kind].load(folder, vocabulary)
    return stage
