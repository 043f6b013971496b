"""The command line: parses options, calls the library, prints. Results go to stdout, progress and errors to stderr."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tagwright import __version__
from tagwright.app.arguments import (
    FORMATS,
    Arranged,
    Chosen,
    Cut,
    Docs,
    Encoding,
    Format,
    Json,
    LabelFile,
    Language,
    MonitorLog,
    Quiet,
    Reading,
    Report,
    Scoring,
    Train,
    grouped,
    one_spelling,
)
from tagwright.app.commands.batch import batch
from tagwright.app.commands.cache import cache
from tagwright.app.commands.enrich import enrich
from tagwright.app.commands.generate import describe_labels, synthesise
from tagwright.app.commands.models import models
from tagwright.app.commands.monitor import monitor
from tagwright.app.commands.reviews import reviews
from tagwright.app.commands.sample import sample
from tagwright.app.commands.serve import serve
from tagwright.app.commands.train import options, train
from tagwright.core.checked import nearest
from tagwright.core.display import INTERRUPTED, SOME_FAILED, escape_warnings, escaped, interrupted
from tagwright.core.outputs import Written
from tagwright.core.versions import in_use
from tagwright.errors import ConfigError, TagwrightError, on_command_line
from tagwright.readers.limits import within_limits

if TYPE_CHECKING:
    from tagwright.evaluation.dataset import EvaluationSet

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"token_normalize_func": one_spelling},
    help="Tag any document with any vocabulary, with few labelled documents or none.",
    epilog="DOCS: files, folders, globs or - for standard input (JSON lines, or a text that is one document); JSONL, "
    "TSV, CSV, Parquet, Annif corpora, S2ORC; .txt, .md, .html, .docx, .pdf, .tex, JATS and TEI; MARC, MARCXML, PICA+, "
    "Dublin Core; RIS, BibTeX, CSL JSON. "
    "Columns and keys: id, title, abstract, text, labels (separated by ; or |); usual ones of shops and library "
    "catalogues (name; body; summary; sku; 245$a is a title; subject, 650$a are labels); all others are metadata.",
)

_OF_ANNIF = {
    "hyperopt": "describe", "index": "suggest", "learn": "serve", "list-projects": "models", "load-vocab": "labels",
    "optimize": "evaluate", "run": "serve",
    "ensemble": "auto", "fasttext": "classifier", "mllm": "zero_shot", "nn_ensemble": "auto", "omikuji": "svm",
    "svc": "svm", "tfidf": "zero_shot", "xtransformer": "classifier",
}  # fmt: skip
"Commands and backends of Annif, and what does their work here."

_USAGE_ERROR: Any = typer.BadParameter.__base__  # of all wrong options and arguments; typer has no public name for it


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tagwright {__version__}")
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tag any document with any vocabulary, with few labelled documents or none."""
    context.with_resource(on_command_line())


@app.command()
@grouped
def suggest(
    docs: Docs,
    reading: Reading,
    chosen: Chosen,
    cut: Cut,
    output: Annotated[Format, typer.Option("--format", help=FORMATS)] = "text",
    explain: Annotated[bool, typer.Option(help="Show the evidence for each label: spans of the document.")] = False,
    path: Annotated[
        list[str],
        typer.Option(
            metavar="EXPR", help="A meta-path, such as P->P<-P: show neighbours with the same label as evidence."
        ),
    ] = [],  # noqa: B006
    paths: Annotated[
        bool, typer.Option("--paths", help="Print names with their broader labels: Animals > Birds.")
    ] = False,
    monitor: MonitorLog = None,
    _quiet: Quiet = False,
) -> None:
    """Suggest labels for documents."""
    from tagwright.app import inputs
    from tagwright.app.suggestions import suggestion_lines
    from tagwright.tagger.acceptance import SuggestOptions

    if path and not explain:
        raise ConfigError("meta-paths add neighbours to the explanation of a label; add --explain")
    options = SuggestOptions(**vars(cut))
    corpus = inputs.read_to_tag(docs, reading)
    tagger = inputs.tagger(chosen, corpus)
    if path:
        found = inputs.explained_by_neighbours(tagger, corpus, options, path)
    else:
        found = tagger.suggestions(corpus, options, explain=explain)
    if monitor:
        found = inputs.recorded(found, monitor, chosen.model, tagger)
    names = inputs.named_for(chosen, tagger.vocabulary)
    for line in suggestion_lines(found, tagger, output, names, paths=paths):
        print(line)


@app.command()
@grouped
def evaluate(
    docs: Docs,
    reading: Reading,
    chosen: Chosen,
    scoring: Scoring,
    arranged: Arranged,
    run: Annotated[Path | None, typer.Option(help="A run file instead of a tagger.")] = None,
    train: Train = [],  # noqa: B006
    per_label: Annotated[
        Path | None, Written(), typer.Option(help="Write a TSV with the scores of every label.")
    ] = None,
    report: Report = None,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Score suggestions against gold labels, with 95% intervals."""
    from tagwright.app import inputs, render
    from tagwright.evaluation import dataset
    from tagwright.evaluation.report import page

    if run and (chosen.model or chosen.settings):
        raise TagwrightError("a run is scored without a tagger: with --run leave out --model and --set")
    corpus = inputs.read(docs, reading)
    seen = inputs.read(train, reading) if train else None
    task = inputs.task(corpus, chosen, scoring, seen, arranged)
    if run:
        tagger, found = None, dataset.read_run(run, task)
    else:
        tagger = inputs.tagger(chosen, corpus)
        found = dataset.tag(tagger, task)
    scores = inputs.evaluate(found, task, per_label)
    if report:
        origin = run or chosen.model or "the zero-shot method"
        notes = {"suggestions from": str(origin), **page.settings_of(tagger, chosen.settings)}
        notes |= _origin(task, docs, chosen.labels or chosen.model)
        page.write_page(page.scores_page(scores, notes, *page.run_sections(task, found, tagger)), report)
    render.scores(scores, as_json=as_json)


@app.command()
@grouped
def compare(
    docs: Docs,
    reading: Reading,
    scoring: Scoring,
    arranged: Arranged,
    labels: LabelFile = None,
    run: Annotated[list[Path], typer.Option(help="A run file; give two or more, or taggers.")] = [],  # noqa: B006
    model: Annotated[list[Path], typer.Option(help="A saved tagger beside others or runs.")] = [],  # noqa: B006
    language: Language = "",
    train: Train = [],  # noqa: B006
    report: Report = None,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Compare runs and taggers over the same documents, every two of them: differences, intervals, paired tests."""
    from tagwright.app import inputs, render
    from tagwright.evaluation import dataset
    from tagwright.evaluation.report import page
    from tagwright.evaluation.significance import run_names
    from tagwright.models.history import union

    given = [*run, *map(in_use, model)]
    if len(given) < 2:
        raise TagwrightError(
            f"compare needs at least two runs or taggers, got {len(given)}: --run A.jsonl --run B.jsonl --model DIR"
        )
    corpus = inputs.read(docs, reading)
    seen = inputs.read(train, reading) if train else None
    taggers = [inputs.tagger(Chosen(labels, language, each), corpus) for each in given[len(run) :]]
    if labels or not taggers:
        vocabulary = inputs.vocabulary(Chosen(labels, language), corpus)
    else:
        vocabulary = union([each.vocabulary for each in taggers])
    task = dataset.task(corpus, vocabulary, seen, **vars(scoring), **vars(arranged))
    files = dict(zip(run_names(len(given)), given, strict=True))
    found = [dataset.read_run(file, task) for file in run]
    found += [dataset.tag_by_own_labels(each, task) for each in taggers]
    runs = dict(zip(files, found, strict=True))
    comparison = dataset.compare(runs, task)
    if report:
        notes = {**{name: str(file) for name, file in files.items()}, **_origin(task, docs, labels or given[-1])}
        page.write_page(page.comparison_page(comparison, notes, page.curves_section(task, runs)), report)
    render.comparison(comparison, files, as_json=as_json)


def _origin(task: "EvaluationSet", docs: Sequence[str], labels: Path | None) -> dict[str, str]:
    """Where the numbers of a report come from, with the command that writes it."""
    from tagwright.evaluation.report.page import origin

    return {**origin(task, ", ".join(docs), str(labels)), "command": shlex.join(["tagwright", *sys.argv[1:]])}


@app.command()
@grouped
def candidates(
    docs: Docs,
    reading: Reading,
    chosen: Chosen,
    scoring: Scoring,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Show how many gold labels each candidate stage can find at most, its recall ceiling."""
    from tagwright.app import inputs, render
    from tagwright.evaluation import dataset

    corpus = inputs.read(docs, reading)
    task = inputs.task(corpus, chosen, scoring)
    tagger = inputs.tagger(chosen, corpus)
    found = dataset.ceilings(tagger, task)
    render.ceilings(found, tagger.vocabulary, as_json=as_json)


for command in (train, options, batch, enrich, sample, serve, reviews, models, monitor, synthesise):
    app.command()(grouped(command))
app.command("describe-labels")(grouped(describe_labels))


@app.command("describe")
@grouped
def describe_(
    docs: Docs,
    reading: Reading,
    labels: LabelFile = None,
    language: Language = "",
    test: Annotated[list[str], typer.Option(help="Test documents: report which of DOCS are among them.")] = [],  # noqa: B006
    every: Annotated[bool, typer.Option("--all", help="Print every column and every warning.")] = False,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Describe the data: contents, problems, and applicable methods."""
    from tagwright.app import inputs, render
    from tagwright.data.vocabulary import to_vocabulary
    from tagwright.evaluation.description import describe

    corpus = inputs.read(docs, reading)
    others = inputs.read(test, reading) if test else None
    vocabulary = to_vocabulary(labels, language, corpus) if labels else None
    found = describe(corpus, vocabulary, others, brief=not (every or as_json))
    render.description(found, as_json=as_json)


@app.command()
@grouped
def read(
    docs: Docs,
    reading: Reading,
    output: Annotated[
        Literal["json", "jsonl", "qrels"],
        typer.Option("--format", help="How to print; jsonl can be read again; qrels are the gold labels, as in TREC."),
    ] = "json",
    labels: LabelFile = None,
    _quiet: Quiet = False,
) -> None:
    """Print documents as they were read, as JSON: title, abstract, nested sections, metadata.

    With --format jsonl, print a line for each, which gives the same document when it is read again. With --format
    qrels, print their gold labels that are in --labels instead, to evaluate runs with other programs.
    """
    from tagwright.app import inputs, render

    if output == "qrels":
        render.lines(inputs.gold_lines(inputs.read(docs, reading), labels))
        return
    for document in inputs.documents_to_tag(docs, reading):
        render.document(document, line=output == "jsonl")


@app.command()
@grouped
def graph(
    docs: Docs,
    reading: Reading,
    path: Annotated[list[str], typer.Option(metavar="EXPR", help='A meta-path, such as "P-A-P" or "P->P<-P".')] = [],  # noqa: B006
    list_: Annotated[bool, typer.Option("--list", help="Print the neighbours of each document: JSON lines.")] = False,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Show how many documents each meta-path joins, and its hubs; without --path, for all usual meta-paths."""
    from tagwright.app import inputs, render
    from tagwright.graph.network import Graph

    if list_ and len(path) != 1:
        raise TagwrightError(f"--list prints the neighbours over one meta-path, got {len(path)}: give one --path EXPR")
    network = Graph.of(inputs.read(docs, reading))
    if list_:
        render.neighbours(network.neighbour_ids(path[0]))
    else:
        render.coverages(network.coverages(path), as_json=as_json)


@app.command("labels")
@grouped
def labels_(
    chosen: Chosen,
    output: Annotated[
        Literal["jsonl", "csv", "tsv", "skos"],
        typer.Option("--format", help="How to print; skos is Turtle, with what SKOS can say."),
    ] = "jsonl",
    encode: Annotated[
        bool, typer.Option("--encode", help="Encode all of --labels for the zero-shot method and cache the vectors.")
    ] = False,
    keywords: Annotated[
        int | None, typer.Option(min=1, help="Print this many keywords per label; the tagger is one of `train svm`.")
    ] = None,
    described: Annotated[
        bool, typer.Option("--described", help="Print the labels with these keywords in their descriptions.")
    ] = False,
    _encoding: Encoding = "",
    _quiet: Quiet = False,
) -> None:
    """Print the labels of a file or a saved tagger as they were read, or their keywords, to edit for `train depl`.

    Read again, what is printed gives equal labels. --described gives a vocabulary for any method if labels have little
    text. --labels FILE --encode encodes a vocabulary beforehand; otherwise only the candidates of the first documents
    are encoded.
    """
    from tagwright.app import inputs, render

    if bool(chosen.labels) == bool(chosen.model) or (encode and chosen.model):
        raise TagwrightError("give a saved tagger, --model DIR, or a vocabulary, --labels FILE")
    if encode:
        print(f"{inputs.encode_labels(chosen):,} labels are encoded")
    else:
        file_format = "turtle" if output == "skos" else output
        render.lines(inputs.vocabulary_lines(chosen, file_format, keywords, described=described))


@app.command()
@grouped
def verify(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A saved tagger.")],
    labels: LabelFile = None,
    language: Language = "",
    as_json: Json = False,
) -> None:
    """Check every byte of a saved tagger, and whether its labels are still those of --labels.

    Loading checks 64 MB, and only the sizes of larger files. The exit code is 1 if the labels differ: some were added,
    are gone, or have another preferred name.
    """
    from tagwright.app import render
    from tagwright.data.vocabulary import to_vocabulary
    from tagwright.data.vocabulary_changes import VocabularyChanges
    from tagwright.tagger import Tagger

    vocabulary = Tagger.load(model, verify=True).vocabulary
    changes = VocabularyChanges.of(vocabulary, to_vocabulary(labels, language)) if labels else None
    render.verified(model, len(vocabulary), changes, as_json=as_json)
    if changes:
        raise typer.Exit(1)


app.command()(cache)


@app.command()
def demo(_quiet: Quiet = False) -> None:
    """Tag the functions of SciPy, which is installed here, with the headings of its manual, and score it."""
    from tagwright.app.demo import run

    run()


def main() -> None:
    """Run the command line. Errors that the user can fix are printed in one line: exit code 2, no traceback.

    The exit code is 3 where files could not be read and a command has done its work with the others.
    """
    escape_warnings()
    try:
        skipped = list[TagwrightError]()
        with within_limits(skipped=skipped):
            code = app(sys.argv[1:] or ["--help"], prog_name="tagwright", standalone_mode=False)
        code = code or (SOME_FAILED if skipped else 0)
        sys.stdout.flush()
        if code == INTERRUPTED:
            interrupted()
    except TagwrightError as error:
        code = _say(str(error))
    except _USAGE_ERROR as error:
        problem = error.format_message().replace("Value error, ", "")  # a prefix of the library that parses values
        code = _say(f"{problem}{_nearest(problem)} ({error.ctx.command_path if error.ctx else 'tagwright'} --help)")
    except KeyboardInterrupt:
        code = interrupted()
    except BrokenPipeError:  # the reader of our output has closed the pipe
        code = 1
    except OSError as error:
        code = _say(f"{error.filename or 'output'}: {error.strerror or error}")
    _close_output()
    sys.exit(code)


def _nearest(problem: str) -> str:
    """Return a hint at the name that was meant, where a problem lists the possible ones or the name is one of Annif's.

    >>> _nearest("'svn' is not one of 'auto', 'svm'."), _nearest("No such command 'index'."), _nearest("No such file")
    (" Did you mean 'svm'?", " Did you mean 'suggest'?", '')
    """
    found = re.search(r"(?:No such command '([^']*)'\.|'([^']*)' is not one of (.*)\.)$", problem)
    if not found:
        return ""
    command, choice, listed = found.groups(default="")
    known, here = re.findall("'([^']*)'", listed), _OF_ANNIF.get(command or choice)
    near = here if here and (command or here in known) else nearest(choice, known, cutoff=0.61)
    return f" Did you mean '{near}'?" if near else ""


def _say(problem: str) -> int:
    print(f"tagwright: {escaped(' '.join(problem.split()))}", file=sys.stderr)
    return 2


def _close_output() -> None:
    """Flush now: at exit, Python prints a traceback when it cannot."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
