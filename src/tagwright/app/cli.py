"""The command line: reads options, calls the library, prints. Results go to stdout, progress and errors to stderr."""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from tagwright.errors import TagwrightError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Tag any document with any vocabulary, with few labelled documents or none.",
    epilog="DOCS: files, folders, globs or - for standard input; JSONL, TSV, CSV, Parquet, Annif corpora, S2ORC; "
    ".txt, .md, .html, .docx, .pdf, JATS and TEI.",
)

_USAGE_ERROR: Any = typer.BadParameter.__base__  # of all wrong options and arguments; typer has no public name for it

INTERRUPTED = 130
"What typer returns for a KeyboardInterrupt, as shells do."


class Format(str, Enum):
    """How suggestions are printed."""

    text = "text"
    jsonl = "jsonl"
    tsv = "tsv"


class Method(str, Enum):
    """What can be trained."""

    rts = "rts"
    maclr = "maclr"
    micol = "micol"
    futex = "futex"
    ict = "ict"
    simcse = "simcse"
    finetune = "finetune"
    svm = "svm"
    classifier = "classifier"
    de_ret = "de-ret"
    depl = "depl"
    depl_cls = "depl+cls"


Docs = Annotated[list[str], typer.Argument(metavar="DOCS...", help="Documents.", show_default=False)]
LabelFile = Annotated[
    Optional[Path],  # noqa: UP045  (typer evaluates this on Python 3.10)
    typer.Option("--labels", help="Vocabulary: JSONL, TSV, CSV or SKOS.", show_default=False),
]
Language = Annotated[str, typer.Option(help="Language of the names, where there are several.", show_default=False)]
Model = Annotated[Optional[Path], typer.Option("--model", help="A saved tagger.", show_default=False)]  # noqa: UP045
Settings = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="An option of the zero-shot method.", show_default=False),
]
Train = Annotated[
    list[str],
    typer.Option(help="Labelled documents, read for label frequencies only: PSP, slices.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ExcludeSelf = Annotated[bool, typer.Option(help="Never suggest the label whose id is the document's own.")]
SkipUnlabelled = Annotated[bool, typer.Option(help="Leave out documents without gold labels.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars.")]


@app.command()
def suggest(
    docs: Docs,
    labels: LabelFile = None,
    language: Language = "",
    model: Model = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Labels per document.")] = 10,
    output: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.text,
    explain: Annotated[bool, typer.Option(help="Say what in the document speaks for each label.")] = False,
    path: Annotated[
        list[str],
        typer.Option(help="A meta-path, such as P->P<-P: explain by neighbours that share the label.", metavar="EXPR"),
    ] = [],  # noqa: B006
    exclude_self: ExcludeSelf = False,
    settings: Settings = [],  # noqa: B006  (typer copies it)
    quiet: Quiet = False,
) -> None:
    """Suggest labels for documents."""
    from tagwright.app import jobs, show
    from tagwright.progress import silence

    with silence(quiet):
        tagger = jobs.tagger(model, labels, language, settings)
        suggestions = jobs.suggest(tagger, docs, k, exclude_self=exclude_self, explain=explain, paths=path)
        for line in show.suggestions(suggestions, tagger.vocabulary, output.value):
            print(line)


@app.command()
def evaluate(
    docs: Docs,
    labels: LabelFile = None,
    language: Language = "",
    model: Model = None,
    run: Annotated[Optional[Path], typer.Option(help="A run file instead of a tagger.", show_default=False)] = None,  # noqa: UP045
    train: Train = [],  # noqa: B006
    exclude_self: ExcludeSelf = False,
    skip_unlabelled: SkipUnlabelled = False,
    per_label: Annotated[Optional[Path], typer.Option(help="Write a TSV with the scores of every label.")] = None,  # noqa: UP045
    report: Annotated[Optional[Path], typer.Option(help="Write an HTML page with tables and plots.")] = None,  # noqa: UP045
    settings: Settings = [],  # noqa: B006
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score suggestions against gold labels, with 95% intervals."""
    from tagwright.app import jobs, show
    from tagwright.progress import silence

    if run and (model or settings):
        raise TagwrightError("a run is scored as it stands: with --run leave out --model and --set")
    task = jobs.task(docs, labels, language, model, train, exclude_self, skip_unlabelled)
    with silence(quiet):
        found = jobs.read_run(run, task) if run else jobs.tag(jobs.tagger(model, labels, language, settings), task)
    scores = jobs.evaluate(found, task, per_label)
    if report:
        notes = {"documents": ", ".join(docs), "labels": str(labels or model)}
        show.save_scores(scores, report, notes, jobs.curves({str(run or model or "zeroshot"): found}, task))
    show.scores(scores, as_json=as_json)


@app.command()
def compare(
    docs: Docs,
    labels: LabelFile,
    run: Annotated[list[Path], typer.Option(help="A run file; give two.", show_default=False)],
    language: Language = "",
    train: Train = [],  # noqa: B006
    exclude_self: ExcludeSelf = False,
    skip_unlabelled: SkipUnlabelled = False,
    report: Annotated[Optional[Path], typer.Option(help="Write an HTML page with tables and plots.")] = None,  # noqa: UP045
    as_json: Json = False,
) -> None:
    """Compare two runs over the same documents: differences, intervals, paired tests."""
    from tagwright.app import jobs, show

    if len(run) != 2:
        raise TagwrightError(f"compare needs two runs, got {len(run)}: --run A.jsonl --run B.jsonl")
    task = jobs.task(docs, labels, language, None, train, exclude_self, skip_unlabelled)
    a, b = (jobs.read_run(each, task) for each in run)
    comparison = jobs.compare(a, b, task)
    if report:
        notes = {"A": str(run[0]), "B": str(run[1]), "documents": ", ".join(docs)}
        show.save_comparison(comparison, report, notes, jobs.curves({"A": a, "B": b}, task))
    show.comparison(comparison, as_json=as_json)


@app.command()
def candidates(
    docs: Docs,
    labels: LabelFile = None,
    language: Language = "",
    model: Model = None,
    exclude_self: ExcludeSelf = False,
    skip_unlabelled: SkipUnlabelled = False,
    settings: Settings = [],  # noqa: B006
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show how many gold labels each candidate stage can reach at all."""
    from tagwright.app import jobs, show
    from tagwright.progress import silence

    task = jobs.task(docs, labels, language, model, [], exclude_self, skip_unlabelled)
    with silence(quiet):
        tagger = jobs.tagger(model, labels, language, settings)
        found = jobs.ceilings(tagger, task)
    show.ceilings(found, tagger.vocabulary, as_json=as_json)


@app.command()
def train(
    method: Annotated[Method, typer.Argument(help="finetune goes on with a saved tagger (--model).")],
    docs: Docs,
    output: Annotated[Path, typer.Option(help="Where to save the tagger.", show_default=False)],
    labels: LabelFile = None,
    language: Language = "",
    config: Annotated[Optional[Path], typer.Option(help="Options of the method: TOML.", show_default=False)] = None,  # noqa: UP045
    settings: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="An option of the method.", show_default=False)
    ] = [],  # noqa: B006
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a killed run stopped.")] = False,
    fuse: Annotated[bool, typer.Option("--fuse", help="Add the zero-shot method: names, words, meaning.")] = False,
    model: Model = None,
    share_of_labels: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="finetune: learn from this share of the labels, 0.01 being 1%.", show_default=False),
    ] = None,
    share_of_pairs: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="finetune: learn from this share of the documents' labels.", show_default=False),
    ] = None,
    keywords: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="depl: keywords of the labels, as `tagwright labels` prints them.", show_default=False),
    ] = None,
    guesses: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="RUN",
            help="svm to depl+cls: learn from a run file's surest suggestions, not from the documents' labels.",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Learn from documents.

    Without labels: rts, maclr, ict, simcse; micol with metadata; futex with full texts. From few labels: finetune.
    From many: svm, classifier, de-ret, depl, depl+cls.
    """
    from tagwright.app import training

    job = training.Job(docs, labels, language, output, config, settings, resume, quiet, keywords, guesses, fuse)
    few = training.Few(model, share_of_labels, share_of_pairs)
    if method is Method.finetune:
        training.finetune(job, few)
    else:
        training.train(method.value, job, few)
    print(f"saved {output}")


@app.command()
def describe(
    docs: Docs,
    labels: LabelFile = None,
    language: Language = "",
    test: Annotated[list[str], typer.Option(help="More documents: which of DOCS are among them too?")] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Say what the data hold, what is wrong with them, and which methods they allow."""
    from tagwright.app import show
    from tagwright.app.description import describe as read
    from tagwright.data.documents import Corpus
    from tagwright.data.labels import Vocabulary

    vocabulary = Vocabulary.read(labels, language=language or None) if labels else None
    show.description(read(Corpus.read(*docs), vocabulary, Corpus.read(*test) if test else None), as_json=as_json)


@app.command()
def read(docs: Docs) -> None:
    """Print what was understood of documents as JSON: title, abstract, sections in sections, metadata."""
    from tagwright.app import show
    from tagwright.data.readers import open_sources

    for _, documents in open_sources(*docs):
        for _, document in documents:
            show.document(document)


@app.command()
def graph(
    docs: Docs,
    path: Annotated[
        list[str], typer.Option(metavar="EXPR", help='Such as "P-A-P", "P->P<-P".', show_default=False)
    ] = [],  # noqa: B006
    list_: Annotated[bool, typer.Option("--list", help="Print the neighbours of each document: JSON lines.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say which documents each meta-path joins, and through whom; without --path, all that the data allow."""
    from tagwright.app import jobs, show
    from tagwright.progress import silence

    if list_ and len(path) != 1:
        raise TagwrightError(f"--list prints the neighbours over one meta-path, got {len(path)}: give one --path EXPR")
    with silence(quiet):
        if list_:
            show.neighbours(jobs.neighbours(docs, path[0]))
        else:
            show.coverages(jobs.coverages(docs, path), as_json=as_json)


@app.command("labels")
def labels_(
    model: Annotated[Path, typer.Option(help="A saved tagger.", show_default=False)],
    keywords: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=1, help="Print so many keywords of each label, of a tagger of `train svm`.", show_default=False
        ),
    ] = None,
    described: Annotated[
        bool, typer.Option("--described", help="Print the labels with these keywords in their descriptions.")
    ] = False,
) -> None:
    """Print the labels of a saved tagger as JSON lines, or their keywords, to be edited for `train depl`.

    With --described, a vocabulary for any method whose labels have little text.
    """
    from tagwright.app import jobs, show

    show.records(jobs.labels(model, keywords, described=described))


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all that is in it.")] = False,
    as_json: Json = False,
) -> None:
    """Say what is in the cache of embeddings: encoders, vectors, size.

    TAGWRIGHT_CACHE_LIMIT (2G) is its limit: what was not used longest goes. TAGWRIGHT_CACHE_DOCUMENTS=no keeps
    documents out of it. TAGWRIGHT_CACHE is its folder.
    """
    from tagwright.app.cache_contents import show_cache

    show_cache(clear=clear, as_json=as_json)


@app.command()
def demo(quiet: Quiet = False) -> None:
    """Tag the Python packages installed here with the Trove classifiers, and score it."""
    from tagwright.app.demo import run
    from tagwright.progress import silence

    with silence(quiet):
        run()


def main() -> None:
    """Run the command line. What the user can mend is printed in one line: exit code 2, no traceback."""
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="tagwright", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:
            _say("interrupted")
    except TagwrightError as error:
        code = _say(str(error))
    except _USAGE_ERROR as error:
        code = _say(f"{error.format_message()} (tagwright --help)")
    except BrokenPipeError:  # whoever read our output has seen enough
        code = 1
    except OSError as error:
        code = _say(f"{error.filename or 'output'}: {error.strerror or error}")
    _close_output()
    sys.exit(code)


def _say(problem: str) -> int:
    print(f"tagwright: {' '.join(problem.split())}", file=sys.stderr)
    return 2


def _close_output() -> None:
    """Write what is left now: at exit, Python complains at length when it cannot."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
