"""The Python interface, for `import tagwright as tw`: make, train, load and evaluate taggers.

Documents may be texts, Documents, records, columns and tables of pandas, polars, Arrow and Hugging Face, a Corpus, a
Path; labels names, Labels, records, tables, mappings, a Vocabulary, the name of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from tagwright.core.checked import UnknownOptionError, check_names, named_arguments, show
from tagwright.core.outputs import check_output
from tagwright.core.progress import silence
from tagwright.data.corpus import Corpus
from tagwright.data.texts import Texts
from tagwright.data.vocabulary import Labels, label_test
from tagwright.encoders.device import Device, Precision, model_settings
from tagwright.errors import ConfigError
from tagwright.readers.documents.in_memory import corpus_of, with_labels
from tagwright.readers.labels.files import to_vocabulary
from tagwright.tagger import Tagger
from tagwright.types import Run

if TYPE_CHECKING:  # loading a tagger needs no evaluation and no method
    from tagwright.api.evaluating import EvaluationRules
    from tagwright.evaluation import dataset
    from tagwright.evaluation.scores import Scores
    from tagwright.evaluation.significance import Comparisons


@named_arguments
def zero_shot(
    labels: Labels,
    *,
    documents: Texts = (),
    device: Device = "auto",
    offline: bool = False,
    progress: bool = True,
    **options: Any,
) -> Tagger:
    """A tagger that needs no training: names, words and meaning suggest labels.

    documents: texts to tag, if available; weights are fitted to 50 or more. If labels have names in several languages,
    each text is searched for those in its own. options: those of `tagger.zero_shot.Config`, such as language, stages,
    encoder, precision. offline: do not fetch an encoder that is not on this machine, as with HF_HUB_OFFLINE. progress:
    show progress bars on a terminal. Raises InputError, ConfigError, ModelError (all TagwrightErrors).

    >>> tagger = zero_shot(["Bees", "Orchards", "Tax law"], stages=["exact_match", "tfidf"], language="en")
    >>> [each.name for each in tagger.suggest("Honey bees visit apple orchards.", k=1)]
    ['Bees']
    """
    from tagwright.api.job import Job
    from tagwright.api.options import ZERO_SHOT, configuration

    with silence(not progress), model_settings(device=device, offline=offline):
        labels = list(labels) if isinstance(labels, Iterator) else labels  # they may be read twice
        known = _corpus(documents, None, labels)
        config = configuration(ZERO_SHOT, options)
        return Job(method=ZERO_SHOT, config=config, documents=known, labels=labels, language=config.language).run()


@named_arguments
def train(
    method: str,
    documents: Texts,
    labels: Labels | None = None,
    *,
    y: Iterable[Any] | None = None,
    paper: bool = False,
    published_code: bool = False,
    device: Device = "auto",
    offline: bool = False,
    progress: bool = True,
    **options: Any,
) -> Tagger:
    """Train a method on documents and return its tagger.

    method: auto trains and combines whatever improves results, with labelled documents or without. rts, maclr, micol
    and futex learn from texts; svm and depl from documents with gold labels; finetune, and auto if it is given one,
    continue from `model`; zero_shot learns nothing. y: gold labels, ids or names, a list for each document, instead of
    the documents' own; an empty list, and for auto also None, is an unlabelled document. paper: start from the
    settings of the method's paper. published_code: the same, but as in its authors' program if that differs. offline:
    do not fetch an encoder that is not on this machine, as with HF_HUB_OFFLINE.

    options: those of the method's Config, such as language; training options as a table, `training={"epochs": 2}`, as
    a TrainingConfig, or directly, `epochs=2`; also fields of `api.job.Job`: unknown, check, output, resume, overwrite;
    for methods that accept them, fuse, fuse_with, keywords, reviews, model, share_of_labels, share_of_pairs, loss, a
    function of anchors, positives and groups, and pairs, a function of the epoch. Raises InputError, ConfigError,
    ModelError (all TagwrightErrors).

    >>> texts = ["Bees make honey.", "Bees visit orchards.", "The tax on income.", "Tax courts."] * 3
    >>> tagger = train("svm", texts, ["Bees", "Taxes"], y=[["Bees"], ["Bees"], ["Taxes"], ["Taxes"]] * 3)
    >>> tagger.suggest("Honey from the orchards", k=1)[0].name
    'Bees'
    """
    from tagwright.api.job import ARGUMENTS_OF_A_JOB, FUNCTIONS, Job
    from tagwright.api.options import configuration, find_method

    own = dict(options)
    job = {name: own.pop(name) for name in ARGUMENTS_OF_A_JOB if name in own and name not in FUNCTIONS}
    language = job.get("language", "")
    job |= {name: own.pop(name) for name in FUNCTIONS if callable(own.get(name))}
    with silence(not progress), model_settings(device=device, offline=offline):
        gold = y
        if y is not None and find_method(method).learns == "either":
            gold = [() if labels_of is None else labels_of for labels_of in y]
        try:
            config = configuration(method, own, language, paper=paper, published_code=published_code)
        except UnknownOptionError as error:
            raise error.among(ARGUMENTS_OF_A_JOB) from None
        known = list(labels) if isinstance(labels, Iterator) else labels
        return Job(
            method=method, config=config, documents=lambda: _corpus(documents, gold, known), labels=known, **job
        ).run()


@named_arguments
def load(
    folder: Path | str, *, device: Device = "auto", precision: Precision | None = None, verify: bool = False
) -> Tagger:
    """Load a saved tagger, memory-mapped. Encoders are saved with it, except MiniLM, which is fetched if missing.

    precision: the number format of its encoders; None: the one chosen when it was made. verify: check every byte of its
    files; otherwise only 64 MB and the sizes of larger files, which is quick. Raises ModelError if the folder holds no
    tagger, is damaged, or cannot be computed in this precision here; ConfigError if there is no such device or
    precision.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zero_shot(["Bees", "Taxes"], stages=["exact_match"], language="en").save(f"{folder}/my-tagger")
    ...     load(f"{folder}/my-tagger").suggest("Bees fly.")[0].name
    'Bees'
    """
    with model_settings(device=device, precision=precision):
        return Tagger.load(folder, verify=verify)


@named_arguments
def evaluate(
    found: Tagger | Run,
    gold: Texts | Run,
    *,
    y: Iterable[Any] | None = None,
    labels: Labels | None = None,
    train: Texts | None = None,
    measures: Sequence[str] | None = None,
    progress: bool = True,
    **rules: Unpack[EvaluationRules],
) -> Scores:
    """Score a tagger, or a run, against gold labels: `evaluate(...)["nDCG@5"]` is a Score(value, low, high).

    gold: documents with labels, or documents and y, the ids or names of their labels; or a Run. labels: the
    vocabulary, needed for a run over documents. train: training documents for label frequencies, which PSP and slices
    need. measures: names such as P@7 or macro-F1@5. rules: exclude_self=True never suggests the label with the
    document's own id; skip_unlabelled=True leaves out documents without gold labels; unknown is what to do about gold
    labels that the vocabulary lacks: "warn", "error" or "ignore"; only, without, hierarchy, per_branch are those of
    `Tagger.suggest`: gold labels that do not fulfil the conditions are left out, and the log counts them. Raises
    InputError for a document without gold labels unless skip_unlabelled; ConfigError for a measure that does not exist.

    >>> tagger = zero_shot(["Bees", "Taxes"], stages=["exact_match"], language="en")
    >>> evaluate(tagger, ["Bees fly.", "Income"], y=[["Bees"], ["Taxes"]])["P@1"].value
    0.5
    """
    from tagwright.evaluation import dataset, scores

    scores.check_measures(measures or ())
    if isinstance(gold, Run):
        if not isinstance(found, Run):
            raise ConfigError("a tagger is scored on documents; give them, with their labels")
        _check_rules_of_runs(rules)
        known = None if labels is None else to_vocabulary(labels)
        size, above = (None, None) if known is None else (len(known), dataset.ancestors_in(known))
        return scores.evaluate(found, gold, labels=size, above=above, measures=measures)
    with silence(not progress):
        task, runs = _suggest_for_each({"": found}, gold, y, labels, train, rules, measures)
        return dataset.score(runs[""], task, measures)


@named_arguments
def compare(
    *found: Tagger | Run | Mapping[str, Tagger | Run] | Texts,
    y: Iterable[Any] | None = None,
    labels: Labels | None = None,
    train: Texts | None = None,
    measures: Sequence[str] | None = None,
    progress: bool = True,
    **rules: Unpack[EvaluationRules],
) -> Comparisons:
    """Compare taggers or runs, pair by pair, by paired tests: `compare(one, other, ..., documents)`.

    found: the taggers or runs, then the documents, or gold labels as a Run. They are called A, B, C, ..., or by the
    names of a mapping: `compare({"untrained": one, "trained": other}, documents)`. p values are corrected over all
    measures and comparisons (Holm). Other arguments are those of `evaluate`.

    >>> one, other = (zero_shot(["Bees", "Taxes"], stages=[stage], language="en") for stage in ("exact_match", "tfidf"))
    >>> differences = compare(one, other, ["Bees fly.", "A tax"], y=[["Bees"], ["Taxes"]])
    >>> differences["P@1"].a, differences["P@1"].b, differences["P@1"].difference.value
    (1.0, 1.0, 0.0)
    """
    from tagwright.evaluation import dataset
    from tagwright.evaluation.scores import check_measures
    from tagwright.evaluation.significance import compare_all

    *compared, gold = found or (None,)
    named = _name_taggers(compared)
    check_measures(measures or ())
    if isinstance(gold, Run):
        if not all(isinstance(run, Run) for run in named.values()):
            raise ConfigError("a tagger is compared on documents; give them, with their labels, as the last argument")
        _check_rules_of_runs(rules)
        runs = cast("Mapping[str, Run]", named)
        above = None if labels is None else dataset.ancestors_in(to_vocabulary(labels))
        return compare_all(runs, gold, above=above, measures=measures)
    with silence(not progress):
        task, runs = _suggest_for_each(named, gold, y, labels, train, rules, measures)
        return dataset.compare(runs, task, measures)


@named_arguments
def report(
    *found: Tagger | Run | Mapping[str, Tagger | Run] | Texts,
    output: Path | str,
    y: Iterable[Any] | None = None,
    labels: Labels | None = None,
    train: Texts | None = None,
    progress: bool = True,
    **rules: Unpack[EvaluationRules],
) -> Scores | Comparisons:
    """Write the page of `evaluate --report` or, for several taggers or runs, of `compare --report`; return the numbers.

    found: one or more taggers or runs, and last the documents, as for `compare`. output: the HTML file. The rest is as
    for `evaluate`.
    """
    from tagwright.evaluation import dataset
    from tagwright.evaluation.report import page

    *taggers, gold = found or (None,)
    named = _name_taggers(taggers)
    check_output(Path(output))
    with silence(not progress):
        task, runs = _suggest_for_each(named, gold, y, labels, train, rules)
        origin = page.origin(task, _origin(gold), _origin(labels) if labels is not None else "of the tagger")
        if len(runs) == 1:
            ((name, run),) = runs.items()
            tagger = each if isinstance(each := named[name], Tagger) else None
            measured = dataset.score(run, task)
            notes = {"suggestions from": repr(named[name]), **page.settings_of(tagger, ()), **origin}
            page.write_page(page.scores_page(measured, notes, *page.run_sections(task, run, tagger)), output)
            return measured
        compared = dataset.compare(runs, task)
        notes = {**{name: repr(each) for name, each in named.items()}, **origin}
        page.write_page(page.comparison_page(compared, notes), output)
        return compared


def _check_rules_of_runs(rules: EvaluationRules) -> None:
    """Raise UnknownOptionError for an unknown argument, ConfigError for conditions, which need documents."""
    from tagwright.api.evaluating import EvaluationRules

    check_names(rules, EvaluationRules.__annotations__)
    arranged = rules.get("per_branch") or rules.get("hierarchy", "ranked") != "ranked"
    if arranged or rules.get("only") or rules.get("without"):
        raise ConfigError("conditions on labels need documents; give them, with their labels, in place of a run")


def _name_taggers(given: Sequence[Any]) -> dict[str, Tagger | Run]:
    """The taggers and runs by name. Raises ConfigError for anything else."""
    from tagwright.evaluation.significance import run_names

    if len(given) == 1 and isinstance(given[0], Mapping):
        by_name = {str(name): each for name, each in given[0].items()}
    else:
        by_name = dict(zip(run_names(len(given)), given, strict=True))
    for each in by_name.values():
        if not isinstance(each, Tagger | Run):
            raise ConfigError(f"got {show(each)}, expected taggers or runs, and last the documents with their labels")
    if not by_name:
        raise ConfigError("no tagger and no run is given; give some, and last the documents with their labels")
    return by_name


def _suggest_for_each(
    found: Mapping[str, Tagger | Run],
    gold: Any,
    y: Iterable[Any] | None,
    labels: Labels | None,
    train: Texts | None,
    rules: EvaluationRules,
    measures: Sequence[str] | None = None,
) -> tuple[dataset.EvaluationSet, dict[str, Run]]:
    """The evaluation set, and what each tagger and run suggests for it."""
    from tagwright.api.evaluating import EvaluationRules, read_evaluation_set
    from tagwright.evaluation import dataset

    check_names(rules, EvaluationRules.__annotations__)
    taggers = [each for each in found.values() if isinstance(each, Tagger)]
    if taggers:
        vocabulary = taggers[0].vocabulary
    elif labels is not None:
        vocabulary = to_vocabulary(labels)
    else:
        raise ConfigError("which labels? give names, Labels, a Vocabulary or the name of a file")
    for other in taggers[1:]:
        if list(other.vocabulary.ids) != list(vocabulary.ids):
            raise ConfigError("the taggers have different vocabularies; give them one: tagger.with_labels(labels)")
    seen = None if train is None else _corpus(train, None, vocabulary)
    task = read_evaluation_set(_corpus(gold, y, vocabulary), vocabulary, seen, **rules)
    deepest = dataset.depth_for(measures)

    def suggest(name: str, each: Tagger | Run) -> Run:
        if isinstance(each, Run):
            return task.align(each)
        return dataset.tag(each, task, deepest, f"the tagger {name}".strip())

    return task, {name: suggest(name, each) for name, each in found.items()}


def _origin(given: object) -> str:
    return str(given) if isinstance(given, str | Path) else "in Python"


def _corpus(documents: Texts, y: Iterable[Any] | None, labels: Labels | None) -> Corpus:
    """The documents. labels: tell columns of labels from others; read only where a table has such a column."""
    is_label = None if labels is None else label_test(lambda: to_vocabulary(labels))
    corpus = documents if isinstance(documents, Corpus) else corpus_of(documents, is_label=is_label)
    return corpus if y is None else Corpus.of(with_labels(corpus, y))
