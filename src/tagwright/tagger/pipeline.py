"""The tagger: retrieve, pool, score, combine, cut."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, Unpack, overload

from tagwright.combining.confidence import confidence_of
from tagwright.combining.label_free import LabelFree
from tagwright.combining.pool import CandidatePool, PoolOptions
from tagwright.combining.steps import Contributions, Step, find_last
from tagwright.combining.thresholds import Thresholds
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.atomic import read_whole, replace_folder
from tagwright.core.checked import build, named_arguments, show
from tagwright.core.display import html_table, plural
from tagwright.core.progress import silence
from tagwright.core.saved import VOCABULARY, damaged, is_folder_name, pack, read_state, unpack, write_state
from tagwright.core.versions import in_use
from tagwright.data.texts import Single, Texts, is_single, to_documents
from tagwright.data.vocabulary import Labels, Vocabulary
from tagwright.defaults import MAX_LABELS
from tagwright.errors import ConfigError, InputError, one_line_of, option
from tagwright.registry import load_part, load_retriever, saved_part
from tagwright.stages.by_language import ByLanguage, unwrap_stage
from tagwright.stages.evidence import ComparesWords
from tagwright.stages.names.exact_match import share_tries
from tagwright.tagger.acceptance import SuggestArguments, SuggestOptions
from tagwright.tagger.cut import allowed_by, cut_ranking
from tagwright.tagger.suggestions import Evidence, Suggestion, Suggestions, in_order
from tagwright.text.batch import Batch
from tagwright.translation import translate_names
from tagwright.types import Document, Floats, Retriever, Run, Stage, list_or_nones, shortest

KIND = "tagger"
"The kind in the manifest of a saved tagger."

BATCH = 1024
"Documents that are in memory at once, with their candidates from every stage."


@dataclass(frozen=True, slots=True)
class Tagger:
    """A pipeline over one vocabulary. Its labels can be exchanged without training.

    `read`: every stage reads a batch of documents. `retrieve`: the retrievers find candidates. `pool`: some of them are
    selected. `rank`: steps turn the scores of retrievers and re-rankers into one ranking. `tag` and `suggest` do all of
    this batch by batch, and cut the ranking.
    """

    vocabulary: Vocabulary
    retrievers: Mapping[str, Retriever]
    rerankers: Mapping[str, Stage] = field(default_factory=dict)
    "Stages that score the candidates of the retrievers, and find none."
    pool: PoolOptions = field(default_factory=PoolOptions)
    steps: Sequence[Step] = field(default_factory=lambda: (WeightedSum(),))
    "The steps that make the ranking and its confidences, in order."
    training: Mapping[str, Any] = field(default_factory=dict)
    "The training record: method, options with auto resolved, machine, date. Plain JSON, for information."
    _hidden: tuple[tuple[str, ...], ...] = field(default=(), init=False, repr=False, compare=False)
    "For each step the stages that other steps alone use."

    def __post_init__(self) -> None:
        if not self.retrievers:
            raise ConfigError("a tagger without retrievers suggests nothing: name at least one")
        for name in self.stages:
            if not is_folder_name(name):
                raise ConfigError(f"a stage is called {show(name, 100)}, expected a name that a folder can have")
        if twice := self.retrievers.keys() & self.rerankers.keys():
            raise ConfigError(f"retriever and re-ranker are both called {', '.join(sorted(twice))}; rename one")
        for name, stage in self.stages.items():
            if stage.shares and (stage.shares not in self.stages or self.stages[stage.shares].shares):
                raise ConfigError(f"{name} reads with {stage.shares}, which is no stage that reads; add it")
        self.pool.check(list(self.retrievers))
        object.__setattr__(self, "_hidden", self._check_steps())

    def _check_steps(self) -> tuple[tuple[str, ...], ...]:
        """Return for each step the stages that others alone use. Raises ConfigError where a step cannot use the rest.

        The last steps choose first.
        """
        retrievers, rerankers, taken = list(self.retrievers), list(self.rerankers), list[tuple[str, ...]]()
        for step in reversed(self.steps):
            alone = tuple(step.check(retrievers, rerankers))
            retrievers = [name for name in retrievers if name not in alone]
            rerankers = [name for name in rerankers if name not in alone]
            taken.insert(0, alone)
        return tuple(
            tuple(name for other, names in enumerate(taken) if other != place for name in names)
            for place in range(len(taken))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the files that `save` writes, so that a tagger can be sent to another process.

        Labels that are not encoded yet are encoded first, so that the other process need not do it.
        """
        with TemporaryDirectory() as folder:
            self.write(Path(folder))
            return Tagger._unpickled, (pack(Path(folder)),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __repr__(self) -> str:
        return f"Tagger of {plural(len(self.vocabulary), 'label')}: {self.description}"

    def _repr_html_(self) -> str:
        return html_table([["stage", "what it sees"], *map(list, self.meanings.items())], repr(self), ["what it sees"])

    @property
    def trainings(self) -> list[Mapping[str, Any]]:
        """Return the training record and those of the taggers that it continued from, the last one first."""
        trainings, training = list[Mapping[str, Any]](), self.training
        while training:
            trainings.append(training)
            training = training.get("before", {})
        return trainings

    @property
    def stages(self) -> dict[str, Stage]:
        """Return retrievers and re-rankers by name, in this order."""
        return {**self.retrievers, **self.rerankers}

    @property
    def description(self) -> str:
        """Return one line on how the stages are combined."""
        line = ""
        for step, hidden in zip(self.steps, self._hidden, strict=True):
            line = step.describe([name for name in self.stages if name not in hidden], line)
        return line

    @property
    def estimates_confidence(self) -> bool:
        """Return whether suggestions have confidences."""
        return confidence_of(self.steps) is not None

    @property
    def is_rough(self) -> bool:
        """Return whether confidences come from a model that has seen no label of the corpus."""
        return confidence_of(self.steps) is find_last(self.steps, LabelFree) is not None

    @property
    def languages(self) -> list[str]:
        """Return the languages that have stages of their own; none if the same stages read all texts."""
        return next((stage.known for stage in self.stages.values() if isinstance(stage, ByLanguage)), [])

    @property
    def meanings(self) -> dict[str, str]:
        """Return what each stage sees in a document, in plain words for explanations."""
        return {name: stage.meaning for name, stage in self.stages.items()}

    def read(self, documents: Sequence[Document]) -> dict[str, Any]:
        """Let each stage read a batch of documents once; return the readings by stage name."""
        documents = Batch.of(documents)
        if any(isinstance(unwrap_stage(stage), ComparesWords) for stage in self.stages.values()):
            self.vocabulary.text_languages.say_unnamed(documents)
        own = {name: stage.read(documents) for name, stage in self.stages.items() if not stage.shares}
        shared = {name: stage.read_with(own[stage.shares]) for name, stage in self.stages.items() if stage.shares}
        return {**own, **shared}

    def retrieve(self, readings: Mapping[str, Any]) -> dict[str, Run]:
        """Return the candidates of each retriever by name."""
        return {name: stage.find(readings[name]) for name, stage in self.retrievers.items()}

    def candidates(self, documents: Sequence[Document]) -> CandidatePool:
        """Read a batch of documents, retrieve candidates and pool them."""
        readings = self.read(documents)
        return CandidatePool.of(documents, self.retrieve(readings), self.stages, readings, self.pool)

    def rank(self, pool: CandidatePool) -> Run:
        """Rank all candidates step by step, with confidences, and whether any label fits, if steps estimate them."""
        run = pool.run
        for step, seen in self._seen(pool):
            run = step.apply(seen, run)
        return run

    def _seen(self, pool: CandidatePool) -> Iterator[tuple[Step, CandidatePool]]:
        """Yield each step with the pool as it sees it."""
        pools = {hidden: pool.without(*hidden) if hidden else pool for hidden in self._hidden}
        yield from zip(self.steps, map(pools.__getitem__, self._hidden), strict=True)

    def best(self, documents: Sequence[Document], options: SuggestOptions) -> Run:
        """Return the labels to suggest for a batch of documents."""
        return self.cut(documents, self.rank(self.candidates(documents)), options)

    def cut(
        self, documents: Sequence[Document], ranking: Run, options: SuggestOptions, served: SuggestOptions | None = None
    ) -> Run:
        """Return the labels to suggest from a ranking of these documents, see `cut.cut_ranking`."""
        own = self.vocabulary.own(documents) if options.exclude_self else None
        if options.thresholds:
            ranking = self._thresholds().cut(ranking)
        return cut_ranking(self.vocabulary, ranking, options, own, served)

    def check(self, options: SuggestOptions) -> None:
        """Raise ConfigError for conditions that no label fulfils, confidences or thresholds that the tagger lacks."""
        options.check(self.estimates_confidence)
        if options.thresholds:
            self._thresholds()
        allowed_by(self.vocabulary, options)

    def _thresholds(self) -> Thresholds:
        if (found := find_last(self.steps, Thresholds)) is None:
            how = option("tune", "f1", python="evaluation.dataset.tune")
            remedy = f"find some on labelled documents ({how} of evaluate), or use the best cut"
            raise ConfigError(f"this tagger has no thresholds of its labels; {remedy}")
        return found

    @named_arguments
    def tag(self, documents: Texts, k: int = MAX_LABELS, **rules: Unpack[SuggestArguments]) -> Run:
        """Return the k best labels of every document, or fewer if the stages find fewer, in batches of bounded memory.

        documents, rules: as for `suggest`; one document gives a run of one row.
        """
        options = SuggestOptions(k=k, **rules)
        self.check(options)
        return Run.concat([self.best(batch, options) for batch in batches(self._documents(documents))])

    @overload
    def suggest(  # type: ignore[overload-overlap]  # a text is an iterable of texts, but means itself
        self, documents: Single, k: int = MAX_LABELS, *, progress: bool = True, **rules: Unpack[SuggestArguments]
    ) -> Suggestions: ...
    @overload
    def suggest(
        self, documents: Texts, k: int = MAX_LABELS, *, progress: bool = True, **rules: Unpack[SuggestArguments]
    ) -> list[Suggestions]: ...
    @named_arguments
    def suggest(
        self, documents: Texts, k: int = MAX_LABELS, *, progress: bool = True, **rules: Unpack[SuggestArguments]
    ) -> Suggestions | list[Suggestions]:
        """Return the k best labels of a document, best first; for several documents, a list of such lists.

        documents: a text, Document or record; or several, a column or table (pandas, polars, Arrow, Hugging
        Face), a Corpus, a Path to read. progress: show progress bars on a terminal. rules: min_score, min_confidence
        leave out labels below them; best_cut=True keeps the number of labels with the highest expected F1, estimated
        from confidences; thresholds=True those that reach the threshold of their label; exclude_self=True leaves out
        the label with the document's own id; only, without are conditions on labels, such as "notation:33*", and
        hierarchy, per_branch ask for narrow or broad labels, see `SuggestOptions`. Raises InputError for anything that
        is not a document, ConfigError for a min_confidence above 0 or a best_cut if the tagger estimates no
        confidences, for thresholds if it has none, and for a condition that no label fulfils.

        >>> from tagwright.tagger import zero_shot
        >>> config = zero_shot.Config(stages=("exact_match", "tfidf"), language="english")
        >>> tagger = zero_shot.fit(Vocabulary(["Bees", "Orchards", "Tax law"]), config)
        >>> [each.name for each in tagger.suggest("Honey bees visit apple orchards.", k=3)]
        ['Bees', 'Orchards']
        """
        return self._suggest(documents, SuggestOptions(k=k, **rules), progress, explain=False)

    @overload
    def explain(  # type: ignore[overload-overlap]
        self, documents: Single, k: int = MAX_LABELS, *, progress: bool = True, **rules: Unpack[SuggestArguments]
    ) -> Suggestions: ...
    @overload
    def explain(
        self, documents: Texts, k: int = MAX_LABELS, *, progress: bool = True, **rules: Unpack[SuggestArguments]
    ) -> list[Suggestions]: ...
    @named_arguments
    def explain(
        self, documents: Texts, k: int = MAX_LABELS, *, progress: bool = True, **rules: Unpack[SuggestArguments]
    ) -> Suggestions | list[Suggestions]:
        """Return the suggestions of `suggest`, each with its reasons and the evidence of the stages that suggest it.

        >>> from tagwright.tagger import zero_shot
        >>> config = zero_shot.Config(stages=("exact_match", "tfidf"), language="english")
        >>> tagger = zero_shot.fit(Vocabulary(["Bees", "Orchards", "Tax law"]), config)
        >>> best, *_ = tagger.explain(text := "Honey bees visit apple orchards.")
        >>> [(each.stage, text[each.spans[0].start : each.spans[0].end]) for each in best.evidence]
        [('exact_match', 'bees'), ('tfidf', 'bees')]
        """
        return self._suggest(documents, SuggestOptions(k=k, **rules), progress, explain=True)

    def _suggest(
        self, documents: Texts, options: SuggestOptions, progress: bool, *, explain: bool
    ) -> Suggestions | list[Suggestions]:
        with silence(not progress):
            rows = [row for _, row in self.suggestions(self._documents(documents), options, explain=explain)]
        return rows[0] if is_single(documents) else rows

    def _documents(self, documents: Texts) -> Iterator[Document]:
        """The documents; the labels tell columns of labels from others."""
        return to_documents(documents, self.vocabulary.has)

    def encode(self, documents: Texts) -> Floats:
        """Return (documents, dim) float32 vectors of norm 1; (dim,) for one document, as sentence-transformers does.

        documents: as for `suggest`, encoded as its first stage with an encoder does: title and abstract or all of the
        text, with the prompt of a query. Raises ConfigError for a tagger without an encoder.
        """
        from tagwright.stages.dense.retriever import Dense  # a tagger without encoder loads none

        dense = next((stage for stage in map(unwrap_stage, self.retrievers.values()) if isinstance(stage, Dense)), None)
        if dense is None:
            raise ConfigError(f"this tagger has no encoder, only {', '.join(self.stages)}; add the stage dense")
        texts = [document.read_as(dense.options.text_field) for document in self._documents(documents)]
        vectors = dense.encoder.encode(texts, role="query", progress="encoding")
        return vectors[0] if is_single(documents) else vectors

    def suggestions(
        self, documents: Iterable[Document], options: SuggestOptions, *, explain: bool = False
    ) -> Iterator[tuple[Document, Suggestions]]:
        """Yield each document with its suggestions, best first; tag a batch when its first document is requested.

        explain: add the evidence. Raises ConfigError as `check` does.
        """
        self.check(options)
        for batch in batches(documents):
            pool = self.candidates(batch)
            suggested = self.named(self.cut(batch, self.rank(pool), options))
            for document, row in zip(batch, self.explained(pool, suggested) if explain else suggested, strict=True):
                yield document, Suggestions(row, document.text if explain else "", row.none)

    def evidence(self, document: Document, labels: Sequence[int]) -> list[tuple[Evidence, ...]]:
        """Return for each label the evidence of every stage that suggests it for the document."""
        pool = self.candidates([document])
        self.contributions(pool)  # slow stages then score only the candidates that they rank again
        return next(self._evidence(pool, [labels]))

    def explained(self, pool: CandidatePool, suggested: Iterable[Suggestions]) -> Iterator[Suggestions]:
        """Yield the suggestions of each document of the pool with their evidence, contributions and estimates."""
        rows = list(suggested)
        labels = [[self.vocabulary.index[one.id] for one in row] for row in rows]
        added = self.contributions(pool)
        for number, (row, places, evidence) in enumerate(zip(rows, labels, self._evidence(pool, labels), strict=True)):
            parts, made = added.of(number, places), added.estimates.of(number, places) if added.estimates else {}
            explained = [
                replace(
                    one,
                    evidence=in_order(why, parts[place]),
                    contributions=parts[place],
                    translated=self.vocabulary[place].translated,
                    estimate=made.get(place),
                )
                for one, place, why in zip(row, places, evidence, strict=True)
            ]
            yield Suggestions(explained, none=row.none)

    def contributions(self, pool: CandidatePool) -> Contributions:
        """Return what each stage or group of features adds to the scores of a pool, and what made the confidences."""
        run, added = pool.run, Contributions.nothing(pool.run)
        *before, (final, seen_last) = self._seen(pool)
        for step, seen in before:
            added, run = step.explain(seen, run, added), step.apply(seen, run)
        return final.explain(seen_last, run, added)

    def _evidence(self, pool: CandidatePool, labels: Sequence[Sequence[int]]) -> Iterator[list[tuple[Evidence, ...]]]:
        """Yield for each document of the pool the evidence of every stage for each of its labels."""
        runs = {name: pool.ranking(name) for name in self.stages}
        for row, (document, wanted) in enumerate(zip(pool.documents, labels, strict=True)):
            evidence: dict[int, tuple[Evidence, ...]] = dict.fromkeys(wanted, ())
            for name, stage in self.stages.items():
                ranked, scores = runs[name][row]
                ranks = {label: rank for rank, label in enumerate(ranked.tolist())}
                known = [label for label in evidence if label in ranks]
                spans = stage.spans(document, known) if known else ()
                for label, quoted in zip(known, spans, strict=True):
                    evidence[label] += (Evidence(name, ranks[label] + 1, float(scores[ranks[label]]), quoted),)
            yield [evidence[label] for label in wanted]

    def with_labels(self, labels: Labels) -> Self:
        """Return the tagger for other labels, given as to `zero_shot`: only new and changed ones are computed.

        To add some: `tagger.with_labels([*tagger.vocabulary, "Wasps"])`.
        """
        vocabulary, own = Vocabulary.of(labels), self.vocabulary
        are_own = (label.id in own.index and own[own.index[label.id]] == label for label in vocabulary)
        if own.is_translated and not all(are_own):
            vocabulary = Vocabulary(translate_names(vocabulary))
        retrievers = {name: stage.with_labels(vocabulary) for name, stage in self.retrievers.items()}
        rerankers = {name: stage.with_labels(vocabulary) for name, stage in self.rerankers.items()}
        return replace(
            self,
            vocabulary=vocabulary,
            retrievers=retrievers,
            rerankers=share_tries(rerankers, retrievers),
            steps=tuple(step.with_labels(self.vocabulary, vocabulary) for step in self.steps),
        )

    def restrict(self, only: Iterable[str] = (), without: Iterable[str] = ()) -> Self:
        """Return the tagger for a part of its vocabulary, which takes memory only for that part.

        only, without: as in `SuggestOptions`; ids are conditions too. Scores are those of a tagger that knows no other
        labels; with the same conditions, `suggest` ranks labels as it ranks all.
        """
        return self.with_labels(self.vocabulary.restrict(only, without))

    def save(self, folder: Path | str, *, overwrite: bool = False) -> None:
        """Save to a folder; an interrupted save changes nothing.

        overwrite: whether a tagger that is saved there may be replaced. Raises ConfigError if that is not allowed,
        or for a stage that no installed package registers; TagwrightError if the folder has any files that are not a
        tagger's, or cannot be written.
        """
        with replace_folder(folder, KIND, overwrite=overwrite) as target:
            self.write(target)

    def write(self, folder: Path) -> None:
        """Write into an existing folder, which the caller puts in place atomically.

        Files that are there already are logs: they are listed as parts of the tagger, but may change or be removed.
        """
        for stage in self.stages.values():
            stage.complete()
        state = {
            VOCABULARY: self.vocabulary,
            "retrievers": {name: saved_part(stage, "stages") for name, stage in self.retrievers.items()},
            "rerankers": {name: saved_part(stage, "stages") for name, stage in self.rerankers.items()},
            "pool": self.pool,
            "steps": [saved_part(step, "steps") for step in self.steps],
            "training": self.training,
        }
        write_state(folder, KIND, state)

    @classmethod
    def load(cls, folder: Path | str, *, verify: bool = False) -> Self:
        """Load a saved tagger: the old or the new one while it is being replaced, or the version in use of several.

        verify: check every byte of its files; otherwise only 64 MB and the sizes of larger files. Raises ModelError if
        the folder holds none, is damaged, or has a stage of a package that is not installed.
        """
        place = in_use(folder)
        return read_whole(place, lambda: cls._read(place, verify))

    @classmethod
    def _unpickled(cls, files: Mapping[str, bytes]) -> Self:
        return cls.load(unpack(files))

    @classmethod
    def _read(cls, folder: Path, verify: bool) -> Self:
        state = read_state(folder, KIND, whole=verify)
        try:
            vocabulary = Vocabulary.from_state(state[VOCABULARY])
            retrievers = {name: load_retriever(saved, vocabulary) for name, saved in state["retrievers"].items()}
            rerankers = {name: load_part("stages", saved, vocabulary) for name, saved in state["rerankers"].items()}
            steps = tuple(load_part("steps", saved, vocabulary) for saved in state["steps"])
            pool, rerankers = build(PoolOptions, state["pool"]), share_tries(rerankers, retrievers)
            return cls(vocabulary, retrievers, rerankers, pool, steps, state["training"])
        except (ConfigError, InputError, LookupError, AttributeError, TypeError, ValueError) as error:
            raise damaged(folder, one_line_of(error, 1000)) from None

    def named(self, run: Run) -> Iterator[Suggestions]:
        """The suggestions of each document of a run over the vocabulary in turn, best first."""
        terms = map(self.vocabulary.__getitem__, run.labels.tolist())
        confidences = list_or_nones(run.confidences, len(run.labels))
        parts = zip(terms, shortest(run.scores), confidences, strict=True)
        suggestions = [
            Suggestion(term.id, term.name, score, confidence, term.notation) for term, score, confidence in parts
        ]
        nones = list_or_nones(run.none, len(run))
        for start, end, none in zip(run.indptr[:-1].tolist(), run.indptr[1:].tolist(), nones, strict=True):
            yield Suggestions(suggestions[start:end], none=none)


def batches(documents: Iterable[Document], size: int = BATCH) -> Iterator[list[Document]]:
    """Lists of at most `size` documents, in order."""
    rest = iter(documents)
    while batch := list(islice(rest, size)):
        yield batch
