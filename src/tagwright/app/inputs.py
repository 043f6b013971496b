"""Shared functions of the commands: read documents, make or load a tagger, evaluate and compare."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tagwright.app.arguments import Arranged, Chosen, Reading, Scoring
from tagwright.core.display import many
from tagwright.core.progress import hint
from tagwright.core.saved import VOCABULARY, read_manifest
from tagwright.core.versions import KIND, saved_at
from tagwright.data.corpus import Corpus, is_synthetic
from tagwright.data.descriptions import keyword_records, with_keywords
from tagwright.data.vocabulary import Vocabulary, to_vocabulary
from tagwright.data.vocabulary_changes import report_changes
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.columns import parse_columns
from tagwright.readers.documents.files import open_sources
from tagwright.readers.documents.records import Located
from tagwright.readers.labels.languages import choose_languages, frequent_languages, with_names_in
from tagwright.readers.limits import skip, within_limits
from tagwright.stages.dense import Dense
from tagwright.tagger import Suggestion, Tagger, batches
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.text.language import ALL, AUTO, NONE, language_of, likely, parse_all, said
from tagwright.types import Document, Run

_log = logging.getLogger(__name__)

NAMED = 10
"Documents that cannot be read and are named one by one; the others are counted."

if TYPE_CHECKING:
    from tagwright.evaluation.dataset import EvaluationSet
    from tagwright.evaluation.scores import Scores


def tagger(chosen: Chosen, documents: Sequence[Document] = ()) -> Tagger:
    """The saved tagger, with another vocabulary if one is given, or else the zero-shot method.

    documents: to be tagged, each in its own language if none is given. Without them, names in all languages are
    searched in every text, and the tagger can be saved.
    """
    if chosen.model and chosen.settings:
        raise ConfigError("--set changes the zero-shot method; a saved tagger (--model) keeps its configuration")
    if chosen.model and not chosen.labels:
        return Tagger.load(chosen.model)
    from tagwright.api.options import ZERO_SHOT, configuration
    from tagwright.app.options import values_of  # the methods are loaded only where one is chosen
    from tagwright.tagger.zero_shot import fit, fit_by_language

    config = configuration(ZERO_SHOT, values_of(None, chosen.settings), chosen.language)
    labels = _vocabulary(chosen.labels, config.language)  # before anything heavy is loaded
    if chosen.model:
        loaded = Tagger.load(chosen.model)
        if config.language in ("", AUTO) and (own := said(loaded.vocabulary)):
            labels = Vocabulary(with_names_in(label, [each.code for each in own]) for label in labels)
        report_changes(loaded.vocabulary, labels)
        return loaded.with_labels(labels)
    made = fit_by_language(labels, config, documents[0]) if len(documents) else fit(labels, config)
    stages = made.combiner.describe(made.stages)
    hint(f"no --model, so the zero-shot method, which needs no training: stages and weights {stages}")
    return made


def read(docs: Sequence[str], reading: Reading) -> Corpus:
    """The documents, read and checked before a vocabulary is read or encoded. Raises ConfigError, InputError."""
    return Corpus.read(*docs, **_reading(reading))


def read_to_tag(docs: Sequence[str], reading: Reading) -> Corpus:
    """The documents, as `read` gives them, without those that `_leaving_out` leaves out."""
    with _leaving_out() as check:
        corpus = read(docs, reading)
        check(len(corpus))
    return corpus


def documents_to_tag(docs: Sequence[str], reading: Reading) -> Iterator[Document]:
    """Yield the same documents one by one; ids that occur twice are not noticed."""
    count = 0
    with _leaving_out() as check:
        for _, documents in sources(docs, reading):
            for _, document in documents:
                count += 1
                yield document
        check(count)


@contextmanager
def _leaving_out() -> Iterator[Callable[[int], None]]:
    """Leave out lines and rows that cannot be read. They are logged, and the command ends with exit code 3.

    Yields a function to call with the number of documents that were read. Raises the first of the errors unless at
    least as many were read as were not: the file is something else then.
    """
    damaged = dict[str, InputError]()  # formats are guessed from lines that are then read again

    def collect(error: InputError) -> bool:
        if error.line is None:  # of several files, those that cannot be read are reported as everywhere
            return False
        damaged.setdefault(str(error), error)
        return True

    def check(count: int) -> None:
        if count < len(damaged):
            raise next(iter(damaged.values()))

    try:
        with within_limits(collect=collect):
            yield check
    except InputError as error:
        nothing = error.path and error.line is None  # a file of which no document could be read
        raise next(iter(damaged.values()), error) if nothing else error from None
    for problem in list(damaged)[:NAMED]:
        _log.warning("%s", problem)
    if damaged:
        _log.warning("%s left out: not readable", many(len(damaged), "document"))
        skip(damaged.values())


def read_with_synthetic(docs: Sequence[str], synthetic: Path | None, reading: Reading) -> Corpus:
    """The documents, with those of a file of `synthesise`. Raises ConfigError if others are in this file."""
    if synthetic is None:
        return read(docs, reading)
    if other := next((each for each in Corpus.read(str(synthetic)) if not is_synthetic(each)), None):
        raise ConfigError(f'{synthetic}: document "{other.id}" is not marked as synthetic; give it among DOCS')
    return read([*docs, str(synthetic)], reading)


def sources(docs: Sequence[str], reading: Reading) -> Iterator[tuple[str, Iterator[Located]]]:
    """Yield the readable documents of each file."""
    return open_sources(*docs, **_reading(reading))


def _reading(given: Reading) -> dict[str, Any]:
    return {
        "format": given.input_format or None, "columns": parse_columns(given.columns), "encoding": given.encoding,
    }  # fmt: skip


def version_of(model: Path | None) -> str:
    """The version of a tagger as a server names it by default: of its folder, with its number or date."""
    if model is None:
        return "zero_shot"
    place = model.resolve()
    if place.parent.name == KIND:
        return f"{place.parents[1].name} {place.name}"
    return f"{place.name} {saved_at(place).isoformat(timespec='seconds')}"


def recorded(
    found: Iterable[tuple[Document, list[Suggestion]]], log: Path, model: Path | None, tagger: Tagger
) -> Iterator[tuple[Document, list[Suggestion]]]:
    """Yield suggestions, and append a record of each to the log of a monitor."""
    from tagwright.monitoring import Record, append, begin

    version = version_of(model)
    begin(log, version, tagger.training)
    for document, suggested in found:
        append(log, [Record.of(document, version, [(each.id, each.confidence) for each in suggested])])
        yield document, suggested


def task(
    corpus: Corpus, chosen: Chosen, scoring: Scoring, train: Corpus | None = None, arranged: Arranged | None = None
) -> "EvaluationSet":
    """Return the evaluation set, with the labels of a file or of a saved tagger.

    Raises InputError, see `evaluation.dataset.task`.
    """
    found = vocabulary(chosen, corpus)
    from tagwright.evaluation import dataset

    return dataset.task(corpus, found, train, **vars(scoring), **vars(arranged or Arranged()))


def vocabulary(chosen: Chosen, documents: Sequence[Document] = ()) -> Vocabulary:
    """The labels of a file or of a saved tagger, which is not loaded itself.

    documents: those of a file are shown by their names in the languages of these, if none was asked for.
    """
    if chosen.model and not chosen.labels:
        read_manifest(chosen.model, "tagger")  # explains what is wrong if there is no tagger
        return Vocabulary.load(chosen.model / VOCABULARY)
    labels = _vocabulary(chosen.labels, chosen.language)
    found = likely(documents) if chosen.language in ("", AUTO) and len(labels.languages) > 1 else ""
    codes = [each.code for each in parse_all(found)] if found else []
    return Vocabulary(with_names_in(label, codes) for label in labels) if codes else labels


def named(chosen: Chosen, labels: Vocabulary) -> Vocabulary:
    """Return the labels of a tagger with the names to print: of a saved one, in the language that was asked for.

    A label without a name in it keeps its preferred name, as in the replies of the server. Raises ConfigError for a
    language in which no label has a name.
    """
    if not chosen.model or chosen.labels or chosen.language in ("", AUTO, NONE, ALL):
        return labels
    code, *_ = *choose_languages(labels.languages, chosen.language, chosen.model), ""
    return _named_in(code, labels)


def named_for(chosen: Chosen, labels: Vocabulary) -> Callable[[Document], Vocabulary]:
    """Return the same for a document: the names of a file are in the document's language, if none was asked for."""
    if not chosen.labels or chosen.language not in ("", AUTO):
        same = named(chosen, labels)
        return lambda _: same
    languages, names = frequent_languages(labels), cache(partial(_named_in, labels=labels))
    return lambda document: names(language_of(document.title_and_abstract or document.text, languages))


def _named_in(code: str, labels: Vocabulary) -> Vocabulary:
    return Vocabulary(replace(label, names=(label.name_in(code),)) for label in labels) if code else labels


def evaluate(run: Run, task: "EvaluationSet", per_label_file: Path | None = None) -> "Scores":
    """Score a run; per_label_file: where to write the scores of every label."""
    from tagwright.evaluation import dataset
    from tagwright.evaluation.scores import per_label, write_per_label

    if per_label_file:
        rows = per_label(run, task.gold, train=task.train)
        write_per_label(rows, task.vocabulary, per_label_file)
    return dataset.score(run, task)


def vocabulary_lines(
    chosen: Chosen, file_format: Literal["jsonl", "csv", "tsv", "turtle"], keywords: int | None, *, described: bool
) -> Iterator[str]:
    """The labels of a file or of a saved tagger as lines of a file, or the keywords of its linear classifier, or both.

    Raises ConfigError for options that do not fit together.
    """
    if described and keywords is None:
        raise ConfigError("--described puts keywords into the descriptions; say how many: --keywords 20")
    if keywords is None and chosen.labels:
        return Vocabulary.read(chosen.labels, language=chosen.language or None).lines(file_format)
    if keywords is None:
        return vocabulary(chosen).lines(file_format)
    if chosen.model is None:
        raise ConfigError("keywords are those of a saved tagger of `train svm`: --model DIR")
    from tagwright.stages.linear.stage import Linear

    tagger = Tagger.load(chosen.model)
    svm = tagger.stages.get("svm")
    if not isinstance(svm, Linear):
        raise ConfigError(f"the tagger has the stages {', '.join(tagger.stages)}; expected one called svm")
    words = svm.keywords(keywords)
    if described:
        return with_keywords(tagger.vocabulary, words).lines(file_format)
    return (json.dumps(record, ensure_ascii=False) for record in keyword_records(tagger.vocabulary, words))


def gold_lines(corpus: Corpus, labels: Path | None) -> Iterator[str]:
    """The gold labels of the documents that a vocabulary has, as lines of qrels."""
    from tagwright.data.trec import qrels_lines

    if labels is None:
        raise ConfigError("qrels hold the ids of labels; give their vocabulary: --labels FILE")
    known = to_vocabulary(labels, "", corpus)
    return qrels_lines(known.gold(corpus, unknown="warn"), corpus.ids, known.ids)


def encode_labels(chosen: Chosen) -> int:
    """Encode all labels for the zero-shot method into the cache; returns their number."""
    made = tagger(chosen)
    for stage in made.stages.values():
        if isinstance(stage, Dense):
            stage.encode_labels()
    return len(made.vocabulary)


def explained_by_neighbours(
    tagger: Tagger, corpus: Corpus, options: SuggestOptions, paths: Sequence[str]
) -> Iterator[tuple[Document, list[Suggestion]]]:
    """Each document with its suggestions, their evidence, and of each meta-path the neighbours that share the label.

    All documents are tagged before the first is passed on. Raises ConfigError for a meta-path that the data lack, and
    as `Tagger.check` does.
    """
    from tagwright.graph.neighbours import network_evidence
    from tagwright.graph.network import Graph

    graph = Graph.of(corpus)
    joined, ids = [graph.follow(path) for path in paths], corpus.ids
    tagger.check(options)
    runs = [tagger.best(batch, options) for batch in batches(corpus)]
    whole = Run.concat(runs)
    for row, (document, labels) in enumerate(tagger.suggestions(corpus, options, explain=True)):
        near = (network_evidence(joined, ids, whole, row, label) for label in whole[row][0].tolist())
        yield document, [replace(one, neighbours=shared) for one, shared in zip(labels, near, strict=True)]


def _vocabulary(labels: Path | None, language: str) -> Vocabulary:
    if labels is None:
        raise ConfigError("which labels? give a vocabulary (--labels FILE) or a saved tagger (--model DIR)")
    return to_vocabulary(labels, language)
