"""The versions of a model: add, compare, promote, roll back, prune."""

import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tagwright.core.atomic import read_whole, replace_file
from tagwright.core.display import plural
from tagwright.core.saved import check_files, read_manifest, write_manifest
from tagwright.core.versions import Versions, in_use
from tagwright.data.corpus import Corpus
from tagwright.data.in_memory import Texts, with_labels
from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.errors import ConfigError, ModelError
from tagwright.evaluation import dataset
from tagwright.evaluation.significance import Comparisons
from tagwright.models.record import make_record, model_card, record_scores
from tagwright.tagger import KIND, Tagger

RECORD, CARD = "record.json", "card.md"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Version:
    """A version of a model: its number as text, such as "0002", and its folder, which is a saved tagger."""

    name: str
    folder: Path

    @property
    def record(self) -> dict[str, Any]:
        """The record of its training and its scores. Raises ModelError if it cannot be read."""
        try:
            return dict(json.loads((self.folder / RECORD).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise ModelError(f"{self.folder / RECORD}: cannot be read ({error}); add the model again") from None

    @property
    def card(self) -> str:
        """The model card, in Markdown."""
        return (self.folder / CARD).read_text(encoding="utf-8")

    def load(self) -> Tagger:
        """The tagger. Raises ModelError."""
        return Tagger.load(self.folder)


class Models:
    """The versions of a model in a folder, one of which is in use: `load(folder)` loads that one.

    Iteration yields the versions, the oldest first, and `models[2]` is one of them. Every change is atomic.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._versions = Versions(folder)

    def __iter__(self) -> Iterator[Version]:
        return (self[name] for name in self._versions.names)

    def __len__(self) -> int:
        return len(self._versions.names)

    def __getitem__(self, version: str | int) -> Version:
        """A version by its number. Raises ConfigError for one that is not there."""
        return _version(self._versions[version])

    @property
    def exist(self) -> bool:
        """Whether the folder holds versions, one of which is in use."""
        return self._versions.exist

    @property
    def current(self) -> Version:
        """The version in use. Raises ModelError if there is none."""
        return _version(self._versions.current)

    def add(self, model: Tagger | Path | str, *, after: str = "") -> Version:
        """Add a tagger, or a copy of a saved one; the first version is in use at once, later ones when promoted.

        A tagger that is a version already is not added again; that version is returned.

        after: the version in use, whose place the new one takes at once. Raises ModelError for a saved tagger that is
        damaged, ConfigError where another version than `after` is in use, TagwrightError for a folder that holds
        anything else.
        """
        if not isinstance(model, Tagger):
            read_manifest(in_use(model), KIND)  # says what is wrong if there is no tagger

        def write(target: Path, name: str) -> None:
            if isinstance(model, Tagger):
                model.write(target)
                tagger, origin = model, "Python"
            else:
                source = in_use(model)
                tagger, origin = read_whole(source, lambda: _copy_checked(source, target)), str(model)
            record = make_record(tagger, target, origin)
            if same := next(
                (version for version in self if _read_record_or_none(version).get("digests") == record["digests"]), None
            ):
                raise _KnownError(same)
            _warn_of_blind(name, record)
            _write(Version(name, target), record)
            manifest = read_manifest(target, KIND)
            write_manifest(target, KIND, {**manifest, "logs": [*{*manifest.get("logs", ()), RECORD, CARD}]})

        try:
            return _version(self._versions.add(write, KIND, after))
        except _KnownError as known:
            return _version(self._versions.promote(known.version.name)) if after else known.version

    def compare(
        self,
        version: str | int,
        documents: Texts,
        *,
        other: str | int | None = None,
        y: Iterable[Any] | None = None,
        skip_unlabelled: bool = False,
        unknown: Unknown = "warn",
    ) -> Comparisons:
        """Compare a version with another, by default the one in use, by paired tests; record their scores.

        documents, y: with gold labels, as for `evaluate`. A label that only one version has is missed by the other.
        Raises ConfigError for a version and itself, InputError for documents without gold labels.
        """
        pair = self[version], self.current if other is None else self[other]
        if pair[0] == pair[1]:
            state = "is in use" if pair[0] == self.current else "is both"
            raise ConfigError(f"{self.folder}: version {pair[0].name} {state}; compare another one with it")
        corpus = documents if isinstance(documents, Corpus) else Corpus.of(documents)
        corpus = corpus if y is None else Corpus.of(with_labels(corpus, y))
        taggers = [each.load() for each in pair]
        vocabulary = union([tagger.vocabulary for tagger in taggers])
        task = dataset.evaluation_set(corpus, vocabulary, skip_unlabelled=skip_unlabelled, unknown=unknown)
        runs = {
            each.name: dataset.tag_across_vocabularies(tagger, task, name=f"version {each.name}")
            for each, tagger in zip(pair, taggers, strict=True)
        }
        scores = {name: dataset.score(run, task) for name, run in runs.items()}
        with self._versions.changing():  # others may compare, or remove a version
            for each, besides in zip(pair, reversed(pair), strict=True):
                if each.folder.is_dir():
                    _write(each, record_scores(each.record, scores[each.name], corpus.digest(), besides.name))
        return dataset.compare(runs, task)

    def promote(self, version: str | int) -> Version:
        """Put a version in use; warn if another was better on the same documents, or if confidences are lost.

        Raises ConfigError for one that is not there.
        """
        _warn_of_better(self[version], self)
        _warn_of_confidences(self[version], self.current)
        return _version(self._versions.promote(version))

    def rollback(self) -> Version:
        """Put the previous version back in use. Raises ConfigError if there was none."""
        return _version(self._versions.rollback())

    def prune(self, keep: int) -> list[str]:
        """Remove all but the `keep` newest versions, the one in use and the one before it; return their numbers."""
        return self._versions.prune(keep)


class _KnownError(Exception):
    """The tagger to add is this version."""

    def __init__(self, version: Version) -> None:
        self.version = version


def _version(folder: Path) -> Version:
    return Version(folder.name, folder)


def _copy_checked(source: Path, target: Path) -> Tagger:
    """Copy a saved tagger, check every byte of the copy, and load the original: a loaded folder cannot be renamed."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    check_files(target, read_manifest(target, KIND).get("files"), whole=True)
    return Tagger.load(source)


def _write(version: Version, record: Mapping[str, Any]) -> None:
    """Write the record of a version and the card made from it, in place of those that are there."""
    texts = {RECORD: json.dumps(record, ensure_ascii=False, indent=1) + "\n", CARD: model_card(version.name, record)}
    for name, text in texts.items():
        with replace_file(version.folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def union(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """The labels of all, each once. The first one itself if they have the same ids."""
    first = vocabularies[0]
    known = {label.id: label for vocabulary in reversed(vocabularies) for label in vocabulary}
    return first if len(known) == len(first) else Vocabulary(known.values())


def _warn_of_better(version: Version, others: Iterable[Version]) -> None:
    """Warn of the versions with a higher nDCG@5 on the last documents that both were measured on."""
    own = {score["digest"]: score for score in _scores(version)}
    for other in others:
        shared = [(own[score["digest"]], score) for score in _scores(other) if score["digest"] in own]
        for pair in shared[-1:]:
            mine, its = (score["measures"]["nDCG@5"]["value"] for score in pair)
            if mine < its:
                _log.warning(
                    "version %s was measured better than %s on the same %s documents: nDCG@5 %.1f against %.1f",
                    other.name, version.name, f"{pair[0]['documents']:,}", 100 * its, 100 * mine,
                )  # fmt: skip


def _warn_of_confidences(version: Version, before: Version) -> None:
    """Warn if a version estimates no confidences, where the one before does."""
    if _read_record_or_none(before).get("confidences") and _read_record_or_none(version).get("confidences") is False:
        _log.warning(
            "version %s estimates no confidences, as %s does: it refuses thresholds of confidence; train auto, with "
            "labelled documents, gives a tagger that estimates them",
            version.name, before.name,
        )  # fmt: skip


def _scores(version: Version) -> Sequence[Any]:
    return cast("Sequence[Any]", _read_record_or_none(version).get("scores", []))


def _read_record_or_none(version: Version) -> Mapping[str, Any]:
    """The record of a version; empty where it cannot be read, which stops no promotion."""
    try:
        return version.record
    except ModelError:
        return {}


def _warn_of_blind(name: str, record: Mapping[str, Any]) -> None:
    """Warn if a version has learned from documents that were reviewed blind."""
    if count := sum(training.get("learned_from", {}).get("blind", 0) for training in record["trainings"]):
        known = f"{plural(count, 'document')} reviewed blind"
        _log.warning("version %s has learned from %s, which say nothing of how good it is", name, known)
