"""The record of a version, plain JSON: what it was made from, with digests, and what was measured of it."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tagwright import __version__
from tagwright.core.saved import read_manifest
from tagwright.core.steps import digest
from tagwright.evaluation.scores import Scores
from tagwright.tagger import KIND, Tagger
from tagwright.text.language import main_languages, recognise, vocabulary_texts

CARRIED = ("method", "date", "version", "learned_from", "data", "combined")
"What the record of a version repeats of each training."


def make_record(tagger: Tagger, folder: Path, origin: str) -> dict[str, Any]:
    """The record of a tagger that is added now. folder: where it is saved; origin: where it comes from."""
    labels, trainings = tagger.vocabulary, list(_trainings(tagger.training))
    manifest = read_manifest(folder, KIND)
    configured = [manifest[name] for name in ("retrievers", "rerankers", "pool", "combiner")]
    parts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*/**/manifest.json"))]
    options = [each.get("options", {}) for each in trainings]
    languages = main_languages(recognise(vocabulary_texts(labels)))
    return {
        "added": now(),
        "from": origin,
        "tagwright": __version__,
        "digests": {
            "data": _digest([each.get("data", {}) for each in trainings]),
            "vocabulary": digest(labels),
            "configuration": _digest([configured, options, parts]),
            "files": _digest(manifest["files"]),
        },
        "labels": len(labels),
        "languages": [language.name.capitalize() for language in languages],
        "stages": tagger.meanings,
        "confidences": tagger.combiner.estimates_confidence,
        "trainings": [{name: each[name] for name in CARRIED if name in each} for each in trainings],
        "scores": [],
    }


def measured(record: Mapping[str, Any], scores: Scores, documents: str, besides: str) -> dict[str, Any]:
    """The record with scores, in place of those on the same documents. documents: their digest.

    besides: the version that was measured on them at the same time.
    """
    others = [each for each in record["scores"] if each["digest"] != documents]
    values = {name: score.to_json() for name, score in scores.measures.items()}
    found = {"date": now(), "digest": documents, "documents": scores.documents, "besides": besides, "measures": values}
    return {**record, "scores": [*others, found]}


def now() -> str:
    """The time, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _digest(plain: object) -> str:
    return digest([json.dumps(plain, sort_keys=True)])


def _trainings(training: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A training and those that it continued from, the last one first."""
    while training:
        yield training
        training = training.get("before", {})
