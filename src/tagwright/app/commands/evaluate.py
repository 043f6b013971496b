"""The commands `evaluate` and `compare`: suggestions of taggers and run files against gold labels."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagwright.app.arguments import (
    Chosen,
    Docs,
    Json,
    LabelFile,
    LabelFilter,
    Language,
    Measures,
    Propensity,
    Quiet,
    Reading,
    Report,
    Scoring,
    Train,
    refuse,
)
from tagwright.core.outputs import Written
from tagwright.core.versions import in_use
from tagwright.errors import ConfigError

if TYPE_CHECKING:
    from tagwright.evaluation.dataset import EvaluationSet


def evaluate(
    docs: Docs,
    reading: Reading,
    chosen: Chosen,
    scoring: Scoring,
    label_filter: LabelFilter = None,
    propensity: Propensity = "usual",
    run: Annotated[Path | None, typer.Option(help="A run file instead of a tagger.")] = None,
    train: Train = [],  # noqa: B006
    candidates: Annotated[
        Path | None, typer.Option(help="Rank only these candidates: *_candidates.json of MICoL or FuTex.")
    ] = None,
    measures: Measures = "",
    per_label: Annotated[
        Path | None,
        Written(own="label\tname\ttrain\t"),
        typer.Option(help="Write a TSV with the scores of every label."),
    ] = None,
    report: Report = None,
    tune: Annotated[
        str, typer.Option(metavar="AIM", help="Tune thresholds for `suggest --thresholds`, by f1 or precision=0.8.")
    ] = "",
    output: Annotated[Path | None, typer.Option(help="With --tune: where to save the tagger with thresholds.")] = None,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Score suggestions against gold labels, with 95% intervals."""
    from tagwright.api import evaluating
    from tagwright.app import inputs, render, shown_names
    from tagwright.combining.thresholds import parse_aim
    from tagwright.core.atomic import check_replaceable, manifest_of
    from tagwright.evaluation import dataset, scores
    from tagwright.evaluation.report import page
    from tagwright.readers.published import read_candidates
    from tagwright.tagger.pipeline import KIND

    itself = output and chosen.model and output.resolve() == chosen.model.resolve()
    refuse(
        {
            "a run is scored without a tagger: with --run leave out --model and --set": run
            and (chosen.model or chosen.settings),
            "candidates are ranked by a tagger, and --run names a run file; leave out one of them": run and candidates,
            "--output is where a tagger with thresholds is saved; add --tune f1": output and not tune,
            "--tune allows no --run, --train, --report, --per-label, --measures, --propensity": tune
            and (run or train or report or per_label or measures or propensity != "usual"),
            f"{output}: holds a saved tagger; choose another place, or tune that one: --model {output}": output
            and not itself
            and manifest_of(output),
        }
    )
    names, _ = _parse_measures(measures), tune and parse_aim(tune)
    if output:
        check_replaceable(output, KIND, overwrite=bool(itself))
    corpus = inputs.read(docs, reading, chosen)
    seen = inputs.read(train, reading, chosen) if train else None
    tagger = None if run else inputs.fitted_tagger(chosen, corpus)
    labels = inputs.vocabulary(chosen) if tagger is None else tagger.vocabulary
    shown = shown_names.in_languages_of(corpus, chosen, labels)
    task = evaluating.read_evaluation_set(
        corpus, shown, seen, **vars(scoring), label_filter=label_filter, propensity=propensity
    )
    if run:
        suggested = evaluating.read_run(run, task, dataset.depth_for(names))
    else:
        assert tagger is not None
        given = None
        if candidates:
            given = read_candidates(candidates, [corpus.ids[place] for place in task.positions], labels.index)
        suggested = dataset.tag(tagger, task, dataset.depth_for(names), str(chosen.model or "the tagger"), given)
    if tagger and tune:
        tuned, compared = dataset.tune(tagger, suggested, task, tune)
        if output:
            tuned.save(output, overwrite=bool(itself))
        render.print_comparison(compared, {"A": "one threshold", "B": "thresholds of labels"}, as_json=as_json)
        return
    if per_label:
        scores.write_label_scores(
            scores.label_scores(suggested, task.gold, train=task.train), task.vocabulary, per_label
        )
    measured = dataset.score(suggested, task, names)
    if report:
        origin = run or chosen.model or "the zero-shot method"
        notes = {"suggestions from": str(origin), **page.settings_of(tagger, chosen.settings)}
        notes |= _origin(task, docs, chosen.labels or chosen.model)
        page.write_page(page.scores_page(measured, notes, *page.run_sections(task, suggested, tagger)), report)
    render.print_scores(measured, as_json=as_json)


def compare(
    docs: Docs,
    reading: Reading,
    scoring: Scoring,
    label_filter: LabelFilter = None,
    propensity: Propensity = "usual",
    labels: LabelFile = None,
    run: Annotated[list[Path], typer.Option(help="A run file; give two or more runs or taggers.")] = [],  # noqa: B006
    model: Annotated[list[Path], typer.Option(help="A saved tagger; may be repeated.")] = [],  # noqa: B006
    language: Language = "",
    train: Train = [],  # noqa: B006
    measures: Measures = "",
    report: Report = None,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Compare runs and taggers on the same documents, pair by pair: differences, intervals, paired tests."""
    from tagwright.api import evaluating
    from tagwright.app import inputs, render, shown_names
    from tagwright.evaluation import dataset
    from tagwright.evaluation.report import page
    from tagwright.evaluation.significance import run_names

    files = [*run, *map(in_use, model)]
    if len(files) < 2:
        give = "--run A.jsonl --run B.jsonl --model DIR"
        raise ConfigError(f"compare needs at least two runs or taggers, got {len(files)}: {give}")
    wanted = _parse_measures(measures)
    depth = dataset.depth_for(wanted)
    judged = Chosen(labels, language, None if labels or not model else files[-1])
    corpus = inputs.read(docs, reading, judged)
    seen = inputs.read(train, reading, judged) if train else None
    taggers = [inputs.tagger(Chosen(labels, language, file)) for file in files[len(run) :]]
    if labels or not taggers:
        chosen = Chosen(labels, language)
        vocabulary = shown_names.in_languages_of(corpus, chosen, inputs.vocabulary(chosen))
    else:
        vocabulary = dataset.union([tagger.vocabulary for tagger in taggers])
    task = evaluating.read_evaluation_set(
        corpus, vocabulary, seen, **vars(scoring), label_filter=label_filter, propensity=propensity
    )
    suggested = [evaluating.read_run(file, task, depth) for file in run]
    tagged = zip(taggers, map(str, files[len(run) :]), strict=True)
    suggested += [dataset.tag_across_vocabularies(tagger, task, depth, file) for tagger, file in tagged]
    names = run_names(len(files))
    runs, sources = dict(zip(names, suggested, strict=True)), dict(zip(names, files, strict=True))
    comparison = dataset.compare(runs, task, wanted)
    if report:
        notes = {**{name: str(file) for name, file in sources.items()}, **_origin(task, docs, labels or files[-1])}
        page.write_page(page.comparison_page(comparison, notes), report)
    render.print_comparison(comparison, sources, as_json=as_json)


def _parse_measures(measures: str) -> list[str] | None:
    """The names of the measures; None for the usual ones. Raises ConfigError for one that does not exist."""
    from tagwright.evaluation.scores import check_measures

    names = [name.strip() for name in measures.split(",")] if measures else []
    check_measures(names)
    return names or None


def _origin(task: EvaluationSet, docs: Sequence[str], labels: Path | None) -> dict[str, str]:
    """Where the numbers of a report come from, with the command that writes it."""
    from tagwright.evaluation.report.page import origin

    return {**origin(task, ", ".join(docs), str(labels)), "command": shlex.join(["tagwright", *sys.argv[1:]])}
