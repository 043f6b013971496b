"""The record of a version, plain JSON: what it was made from, and what was measured of it; and the card made of it."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tagwright.core.display import plural
from tagwright.core.saved import read_manifest
from tagwright.core.steps import digest
from tagwright.evaluation.advice import next_step
from tagwright.evaluation.description import FREQUENT
from tagwright.evaluation.scores import Scores
from tagwright.tagger import KIND, Tagger
from tagwright.text.language import main_languages, recognise, vocabulary_texts
from tagwright.version import __version__

SHOWN = ("P@1", "P@5", "R@10", "nDCG@5", "nDCG@10")
"The measures on the card; the record has all."

BLIND = "blind"
"The entry of what a training combined with what was measured on documents that were reviewed blind."


def make_record(tagger: Tagger, folder: Path, origin: str) -> dict[str, Any]:
    """The record of a tagger that is added now. folder: where it is saved; origin: where it comes from."""
    labels, trainings = tagger.vocabulary, tagger.trainings
    manifest = read_manifest(folder, KIND)
    configured = [manifest.get(name) for name in ("retrievers", "rerankers", "pool", "steps", "combiner")]
    parts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*/**/manifest.json"))]
    options = [training.get("options", {}) for training in trainings]
    languages = main_languages(recognise(vocabulary_texts(labels)))
    repeated = ("method", "date", "version", "learned_from", "data", "texts", "combined")
    return {
        "added": current_time(),
        "from": origin,
        "tagwright": __version__,
        "digests": {
            "data": _digest([training.get("data", {}) for training in trainings]),
            "vocabulary": digest(labels),
            "configuration": _digest([configured, options, parts]),
            "files": _digest(manifest["files"]),
        },
        "labels": len(labels),
        "languages": [language.name.capitalize() for language in languages],
        "stages": tagger.meanings,
        "confidences": tagger.estimates_confidence,
        "trainings": [{name: training[name] for name in repeated if name in training} for training in trainings],
        "scores": [],
    }


def record_scores(record: Mapping[str, Any], scores: Scores, documents: str, besides: str) -> dict[str, Any]:
    """The record with scores, in place of those on the same documents. documents: their digest.

    besides: the version that was measured on them at the same time.
    """
    others = [score for score in record["scores"] if score["digest"] != documents]
    values = {name: score.to_json() for name, score in scores.measures.items()}
    entry = {
        "date": current_time(),
        "digest": documents,
        "documents": scores.documents,
        "besides": besides,
        "measures": values,
    }
    return {**record, "scores": [*others, entry]}


def measured_blind(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the scores of a version on documents reviewed blind, as a review page records them; else empty.

    Of enough documents it has the "difference" to the version "besides". Earlier trainings made other versions.
    """
    return next((training.get("combined", {}).get(BLIND, {}) for training in record["trainings"][:1]), {})


def model_card(name: str, record: Mapping[str, Any]) -> str:
    """Write the model card: the training data of a version, its scores, and its limits."""
    parts = {
        f"# Model card of version {name}": _facts(record),
        "## What it learned from": _list_learned(record),
        "## How good it is": _scores(record),
        "## What it is not for": _limits(name, record),
    }
    return "\n".join("\n".join([heading, "", *lines, ""]) for heading, lines in parts.items())


def _facts(record: Mapping[str, Any]) -> Iterator[str]:
    yield f"- added {record['added']} from {record['from']}, by Tagwright {record['tagwright']}"
    yield f"- {plural(record['labels'], 'label')}; languages of their names: {_list_few(record['languages'])}"
    yield from (f"- stage {stage}: {meaning}" for stage, meaning in record["stages"].items())
    yield from (f"- digest of the {name}: `{value[:16]}`" for name, value in record["digests"].items())


def _list_learned(record: Mapping[str, Any]) -> Iterator[str]:
    for training in record["trainings"]:
        line = f"- {training.get('method', 'a training')}, {training.get('date', 'no date')}: "
        counts = training.get("learned_from", {})
        if not counts:
            yield f"{line}the number of documents is not recorded"
        elif "labelled" not in counts:
            yield f"{line}{plural(counts['documents'], 'document')}, without their labels"
        else:
            labelled = f"{counts['labelled']:,} of them labelled, with {plural(counts['labels'], 'different label')}"
            blind = f", {counts['blind']:,} reviewed blind, which do not measure it" if counts.get("blind") else ""
            yield f"{line}{plural(counts['documents'], 'document')}, {labelled}{blind}"
    if not record["trainings"]:
        yield "Nothing is recorded: it may be untrained."


def _scores(record: Mapping[str, Any]) -> Iterator[str]:
    yield from _mark_blind(measured_blind(record))
    for training in record["trainings"]:
        for measure, value in training.get("combined", {}).items():
            if measure == "gain":
                low, high = (f"{100 * value[end]:+.1f}" for end in ("low", "high"))
                yield f"- gain of that training to expect on new documents like these: {low} to {high} points (95%)"
            elif measure != BLIND and isinstance(value, Mapping):
                before, after = (f"{100 * value[when]:.1f}" for when in ("before", "after"))
                yield f"- cross-validated while it was trained: {measure} {after}, before the training {before}"
        if training.get("combined"):
            yield ""
    for each in record["scores"]:
        documents = f"{plural(each['documents'], 'document')} (digest `{each['digest'][:16]}`)"
        yield from (f"On {documents}, {each['date']}, beside version {each['besides']}:", "")
        yield from ("| % | value | 95% interval |", "| --- | --- | --- |")
        for name in SHOWN:
            if score := each["measures"].get(name):
                value, low, high = (f"{100 * score[part]:.1f}" for part in ("value", "low", "high"))
                yield f"| {name} | {value} | {low} to {high} |"
        yield ""
    if not record["scores"] and "difference" not in measured_blind(record):
        yield "It was not measured on documents that it has not learned from."


def _mark_blind(measured: Mapping[str, Any]) -> Iterator[str]:
    if "difference" in measured:
        after, before = (f"{100 * measured[when]:.1f}" for when in ("after", "before"))
        value, low, high = (f"{100 * measured['difference'][part]:+.1f}" for part in ("value", "low", "high"))
        yield (
            f"- on {plural(measured['documents'], 'document')} reviewed blind, which it has not learned from: nDCG@5 "
            f"{after}, {before} with version {measured['besides']}: {value} points, 95% interval {low} to {high}"
        )


def _limits(name: str, record: Mapping[str, Any]) -> Iterator[str]:
    counts: Mapping[str, int] = next(
        (training["learned_from"] for training in record["trainings"] if training.get("learned_from")), {}
    )
    labelled = counts.get("labelled", 0)
    few = f"- Few labelled documents: it learned from {labelled:,}."
    if step := next_step(labelled):
        yield f"{few} To gain most, {step}."
    if labelled:
        seen, rare = counts["labels"], counts["rare"]
        share = f"{seen:,} of {plural(record['labels'], 'label')} ({seen / record['labels']:.0%})"
        yield (
            f"- Label coverage: {share} occur in what it learned from, {rare:,} of these in fewer than {FREQUENT} "
            "documents. All others are known by their names and descriptions at most."
        )
    yield f"- Languages: texts in others than {_list_few(record['languages'])} need a measurement of their own."
    measure = "" if record["scores"] else f" Measure it first: `tagwright models FOLDER compare {name} --test DOCS`."
    yield (
        "- Not measured: kinds of documents other than those above, single groups of labels, and what a wrong label "
        f"does to people.{measure}"
    )


def _list_few(names: list[str]) -> str:
    return ", ".join(names) or "not recognised"


def current_time() -> str:
    """The time, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _digest(plain: object) -> str:
    return digest([json.dumps(plain, sort_keys=True)])
