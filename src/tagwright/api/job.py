"""A training as one immutable value, run by the command line, Python, scikit-learn's classifier and the server alike.

A `Job` decides which gold labels to learn from, which documents to leave out for a check, which stages to add, what to
record, how to resume a killed training, and which folder to replace.
"""

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tagwright.api.options import (
    ARGUMENTS,
    check_given,
    find_method,
    machine,
    method_name,
    options_of,
    record,
    resolve_defaults,
)
from tagwright.core.atomic import check_replaceable, replace_folder
from tagwright.core.display import plural
from tagwright.core.extras import require
from tagwright.core.progress import note
from tagwright.core.saved import is_first, read_manifest
from tagwright.core.steps import LOG, Steps, digest, open_steps, remove
from tagwright.core.versions import in_use
from tagwright.data.corpus import (
    Corpus,
    same_texts,
    take_documents,
    text_digests,
    text_groups,
    was_reviewed_blind,
)
from tagwright.data.gold import known_labels, sample_labels, sample_pairs
from tagwright.data.keywords import Keywords
from tagwright.data.vocabulary import Labels, Unknown, Vocabulary
from tagwright.encoders.given import find
from tagwright.errors import ConfigError, TagwrightError, option
from tagwright.evaluation.description import FREQUENT
from tagwright.evaluation.metrics import mark_labelled
from tagwright.readers.documents.columns import hint_at_labels
from tagwright.readers.keywords import read_keywords
from tagwright.readers.labels.files import to_vocabulary
from tagwright.tagger import KIND, Tagger
from tagwright.tagger.fuse import TRAINED, fuse
from tagwright.text.language import AUTO
from tagwright.types import Document, Longs, Pair, Run
from tagwright.version import __version__

_log = logging.getLogger(__name__)

NO_GOLD = Run.from_rows([])
NO_ROWS: Longs = np.zeros(0, np.int64)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training. Raises ConfigError at once for an argument that the method does not accept.

    The command `train` and `tagwright.train` take the arguments from `labels` on by the same names.
    """

    method: str
    config: Any
    "The method's options, checked."
    documents: Sequence[Document] | Callable[[], Sequence[Document]]
    "Those to learn from, or a function that reads them."
    labels: Labels | None = None
    "The vocabulary; None takes that of the tagger to continue from."
    language: str = ""
    'The language of names and stop words, as in "fi" or "de+en".'
    unknown: Unknown = "warn"
    "What to do about gold labels that the vocabulary lacks."
    check: bool = False
    "Leave up to 200 labelled documents out of training, compare with zero_shot on them, and log the outcome."
    output: Path | str | None = None
    "Save the tagger to this folder, with checkpoints beside it until then."
    resume: bool = False
    "Continue a training that was interrupted."
    overwrite: bool = False
    "Replace a tagger saved there."

    # only some methods accept the rest: see their `accepts`
    fuse: bool = False
    "Add the stages of the zero-shot method."
    fuse_with: Sequence[Tagger | Path | str] = ()
    "Add the stages of other taggers."
    keywords: Keywords | Path | None = None
    "Label id -> words that describe it, or a file of them (depl)."
    reviews: Path | None = None
    "A file of decisions to learn from (auto)."
    judged: Run | None = None
    "The labels of each document that reviewers decided on."
    model: Tagger | Path | str | None = None
    "The tagger to continue from: finetune trains its encoder, auto learns how to combine its stages."
    loss: Callable[..., Any] | None = None
    "A function in place of the method's loss, from anchors, positives and groups to a scalar: see `rts.fit` (Python)."
    pairs: Callable[[int], Iterable[Pair]] | None = None
    "A function of the epoch that yields pairs of texts, in place of the method's: see `rts.fit` (Python)."
    share_of_labels: float | None = None
    "Learn from this share of the labels only (finetune)."
    share_of_pairs: float | None = None
    "Learn from this share of the documents' labels only (finetune)."

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", method_name(self.method))
        if self.output is not None:
            if Path(self.output).name in ("", ".."):
                raise ConfigError(f"{option('output', str(self.output))}: expected the name of a folder")
            check_replaceable(Path(self.output), KIND, overwrite=self.overwrite)
        elif self.resume:
            raise ConfigError(f"{option('resume')} continues a training that is saved; give {option('output', 'DIR')}")
        check_given(self.method, {name: _is_given(getattr(self, name, None)) for name in ARGUMENTS})
        if self.share_of_labels is not None and self.share_of_pairs is not None:
            one, other = option("share_of_labels"), option("share_of_pairs")
            raise ConfigError(f"got {one} and {other}, expected one of them")
        if self.model is None and find_method(self.method).continues == "encoder":
            raise ConfigError(f"{self.method} continues from a saved tagger: give {option('model', 'DIR')}")
        if self.labels is None and self.model is None:
            raise ConfigError(f"which labels? give a vocabulary: {option('labels', 'FILE')}")
        if self.output is not None and (encoder := find(getattr(self.config, "encoder", ""))):
            encoder.save(Path(self.output))  # raises, before the training: it cannot be saved
        for fused in self.fuse_with:
            if isinstance(fused, Path | str):
                read_manifest(in_use(fused), KIND)  # says what is wrong if there is no tagger

    @property
    def folder(self) -> Path | None:
        """Where the tagger is saved."""
        return None if self.output is None else Path(self.output)

    def run(self) -> Tagger:
        """Train, save if there is a folder, check if asked for, and return the tagger. Raises TagwrightError."""
        method = find_method(self.method)
        require(f"training by {self.method}", *method.needs)
        documents = self.documents() if callable(self.documents) else self.documents
        base = self._base(documents)
        if base:
            vocabulary = base.vocabulary
        else:
            assert self.labels is not None  # checked in __post_init__
            known = () if method.learns == "nothing" else documents  # each text is treated in its own language then
            vocabulary = to_vocabulary(self.labels, self.language, known)
        if method.learns != "labels":  # from labels, words are learned whatever names there are
            vocabulary.text_languages.say_unnamed(documents)
        arguments, gold, rows = self._lesson(documents, vocabulary, base)
        start = self._start(documents, vocabulary, arguments)
        with open_steps(self.folder, start, resume=self.resume) as steps:
            kept_stages = base is not None and method.continues == "ranking"  # with their own encoder, or none
            if is_first() and not kept_stages and (chosen := resolve_defaults(self.config)):
                note(", ".join(f"{name}: {value}, chosen automatically" for name, value in chosen.items()))
            trained = method.fit(documents, vocabulary, self.config, steps, **arguments)
            runs: dict[str, Any] = {"runs": steps.configs()} if steps.folder else {}
            if method.learns != "nothing":
                taught = arguments.get("gold")
                runs |= {"learned_from": _counts(documents, taught), "data": start["data"]}
                if taught is not None:
                    lesson = take_documents(documents, np.flatnonzero(mark_labelled(taught)))
                    runs["texts"] = text_digests(lesson)
                    if blind := sum(map(was_reviewed_blind, lesson)):
                        runs["learned_from"]["blind"] = blind
                        _log.warning(
                            "%s reviewed blind: what is learned from them cannot be measured on them; exports to train "
                            "on leave them out",
                            f"{plural(blind, 'document')} to learn from {'was' if blind == 1 else 'were'}",
                        )
            on = {} if method.learns == "nothing" or kept_stages else machine()
            training = {**record(self.method, start["options"], on, __version__, **runs), **trained.training}
            tagger = self._confident(replace(self._fused(trained), training=training), documents, arguments, gold, rows)
            if self.folder and steps.folder and steps.writes:
                _write(tagger, self.folder, steps.folder, overwrite=self.overwrite)
                remove(steps.folder)
        if len(rows) and is_first():
            _report_check(tagger, take_documents(documents, rows), gold.take(rows), supervised=self._reads_labels)
        return tagger

    @property
    def _reads_labels(self) -> bool:
        """Whether training reads the gold labels of documents."""
        return find_method(self.method).learns != "texts"

    @property
    def _trains_encoder(self) -> bool:
        """Whether the encoder of a tagger to continue from is trained."""
        return find_method(self.method).continues == "encoder"

    def _base(self, documents: Sequence[Document]) -> Tagger | None:
        """The tagger to continue from, over the given labels if any."""
        if self.model is None:
            return None
        # check the vocabulary before a model is loaded
        vocabulary = None if self.labels is None else to_vocabulary(self.labels, self.language, documents)
        tagger = _load_if_path(self.model)
        tagger = tagger if vocabulary is None else tagger.with_labels(vocabulary)
        if self.fuse and TRAINED in tagger.stages:
            stages = ", ".join(tagger.stages)
            name = "the tagger" if isinstance(self.model, Tagger) else self.model
            raise ConfigError(f"{name}: has the stages {stages} already; leave out {option('fuse')}")
        return tagger

    def _lesson(
        self, documents: Sequence[Document], vocabulary: Vocabulary, base: Tagger | None
    ) -> tuple[dict[str, Any], Run, Longs]:
        """Return the arguments for `fit`, the gold labels of all documents, and the rows to check.

        These rows are left out of training.
        """
        method = find_method(self.method)
        model = {"model": base} if base else {}
        if method.learns == "nothing":
            return {}, NO_GOLD, NO_ROWS
        hint_at_labels(documents, vocabulary)
        from tagwright.evaluation.holdout import without_rows

        if "reviews" in method.accepts:  # these measure themselves what they gain: no check
            return {**model, **self._reviewed(documents, vocabulary)}, NO_GOLD, NO_ROWS
        own: dict[str, Any] = {name: function for name in FUNCTIONS if (function := getattr(self, name))}
        if method.learns == "texts":
            return own, *self._unlearnt(documents, vocabulary)
        keywords: dict[str, Keywords] = {}
        if self.keywords is not None:
            words = self.keywords
            keywords["keywords"] = read_keywords(words, vocabulary.index) if isinstance(words, Path) else words
        if self._trains_encoder:  # it also suggests labels that never occur
            gold = vocabulary.gold(documents, unknown=self.unknown)
        else:
            gold = known_labels(documents, vocabulary, self.unknown)
        rows = _left_out(documents, gold) if self.check else NO_ROWS
        taught = self._sampled(without_rows(gold, same_texts(documents, rows)), vocabulary)
        return {**model, **keywords, **own, "gold": taught}, gold, rows

    def _reviewed(self, documents: Sequence[Document], vocabulary: Vocabulary) -> dict[str, Run]:
        """Gold labels with the decisions of reviewers, and the labels that these decided on, if there are any."""
        gold = vocabulary.gold(documents, unknown=self.unknown)
        if self.judged is not None:
            return {"gold": gold, "judged": self.judged}
        if self.reviews is None:
            return {"gold": gold}
        from tagwright.review.applied import apply_reviews

        gold, judged = apply_reviews(gold, documents, vocabulary, self.reviews)
        return {"gold": gold, "judged": judged}

    def _unlearnt(self, documents: Sequence[Document], vocabulary: Vocabulary) -> tuple[Run, Longs]:
        """Gold labels that training does not use, and the rows to check on; no rows without a check."""
        from tagwright.evaluation.holdout import validation_rows

        gold = vocabulary.gold(documents, unknown="ignore")
        rows = validation_rows(gold, documents, supervised=False) if self.check else NO_ROWS
        if self.check and not len(rows):
            note("not compared with the untrained method, for which 20 documents with labels are needed")
        return gold, rows

    def _sampled(self, gold: Run, vocabulary: Vocabulary) -> Run:
        """Sample the gold labels for fine-tuning if asked for. Raises ConfigError when there are none."""
        if self.share_of_labels is not None:
            gold = sample_labels(gold, len(vocabulary), self.share_of_labels, seed=self.config.training.seed)
        elif self.share_of_pairs is not None:
            gold = sample_pairs(gold, self.share_of_pairs, seed=self.config.training.seed)
        if self._trains_encoder and not len(gold.labels):
            raise ConfigError("fine-tuning needs gold labels: none of the documents has a label of the vocabulary")
        return gold

    def _start(
        self, documents: Sequence[Document], vocabulary: Vocabulary, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what must not change between start and resumption; without a folder there is none."""
        options = options_of(self.config)
        functions = {name: function for name in FUNCTIONS if (function := getattr(self, name))}
        options |= {name: getattr(each, "__qualname__", type(each).__qualname__) for name, each in functions.items()}
        if self.folder is None:
            return {"method": self.method, "options": options, "data": {}}
        texts = documents.digest() if isinstance(documents, Corpus) else digest(documents)
        data = {"documents": texts, "labels": digest(vocabulary)}
        data |= {name: _digest(value) for name, value in arguments.items() if name not in ("model", *FUNCTIONS)}
        if self.pairs:  # it may hold all documents: what it yields tells more, in less time
            data["pairs"] = digest(islice(self.pairs(0), 1000))
        data |= {"model": _identity(self.model)} if self.model else {}
        return {"method": self.method, "options": options, "data": data}

    def _fused(self, tagger: Tagger) -> Tagger:
        """Add the stages of the zero-shot method and of other taggers, if asked for."""
        from tagwright.tagger import zero_shot

        if self.fuse and self._trains_encoder:  # the encoder alone: the plain one is among the zero-shot stages
            tagger = Tagger(tagger.vocabulary, {"dense": tagger.retrievers["dense"]})
        labels = tagger.vocabulary
        untrained = [zero_shot.fit(labels, zero_shot.Config(language=self.language or AUTO))] if self.fuse else []
        for other in (*untrained, *(_load_if_path(each).with_labels(labels) for each in self.fuse_with)):
            tagger = fuse(other, tagger)
        return tagger

    def _confident(
        self, tagger: Tagger, documents: Sequence[Document], arguments: Mapping[str, Any], gold: Run, rows: Longs
    ) -> Tagger:
        """Add confidences, learned from labels that training did not read: of rows left out, or of all documents.

        Where there are few labelled documents and none was left out, another training leaves a third of them out.
        """
        from tagwright.evaluation.holdout import without_rows
        from tagwright.tagger.confidences import FEWEST, with_confidences

        method, known = find_method(self.method), np.flatnonzero(mark_labelled(gold))
        anew = self._trains_encoder  # what it has are confidences of the encoder before
        is_taught = "gold" in arguments and (anew or not tagger.estimates_confidence)
        if is_taught and not len(rows) and 3 * FEWEST <= len(known) <= AGAIN:
            third = np.random.default_rng(0).permutation(known)[: len(known) // 3]
            taught = without_rows(arguments["gold"], same_texts(documents, third))
            again = method.fit(documents, tagger.vocabulary, self.config, Steps(), **{**arguments, "gold": taught})
            seen = self._confident(self._fused(again), documents, arguments, gold, third)
            return replace(tagger, steps=seen.steps)
        rows = rows if self._reads_labels else known
        once = rows[np.unique(text_groups(documents[row] for row in rows.tolist()))]
        return with_confidences(tagger, documents, gold.keep(np.isin(gold.rows, once)), anew=anew)


AGAIN = 1000
"Labelled documents up to which a method that learns from them is trained twice, so that it has confidences."


FUNCTIONS = ("loss", "pairs")
"Arguments in place of options of these names, where they are functions."

ARGUMENTS_OF_A_JOB = tuple(
    argument.name
    for argument in fields(Job)
    if argument.init and argument.name not in ("method", "config", "documents", "labels")
)
"Arguments that `tagwright.train` takes by name beside the method's options."


def _counts(documents: Sequence[Document], gold: Run | None) -> dict[str, int]:
    """How many documents are learned from, how many are labelled, with how many labels, and how many of these are rare.

    >>> _counts([Document("1"), Document("2")], Run.from_rows([[3, 4], []]))
    {'documents': 2, 'labelled': 1, 'labels': 2, 'rare': 2}
    """
    found = {"documents": len(documents)}
    if gold is None:
        return found
    counts = np.unique(gold.labels, return_counts=True)[1]
    rare = int((counts < FREQUENT).sum())
    return {**found, "labelled": int(mark_labelled(gold).sum()), "labels": len(counts), "rare": rare}


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != () and value != []


def _left_out(documents: Sequence[Document], gold: Run) -> Longs:
    """Choose the labelled documents to leave out of training for the check."""
    from tagwright.evaluation.holdout import validation_rows

    rows = validation_rows(gold, documents, supervised=True)
    if not len(rows):
        _log.warning(
            "%d labelled documents are too few to leave some out for a check, and perhaps to learn from; compare with "
            "the untrained method on other documents (tagwright evaluate)", int(mark_labelled(gold).sum()),
        )  # fmt: skip
    return rows


def _report_check(tagger: Tagger, documents: Sequence[Document], gold: Run, *, supervised: bool) -> None:
    """Report in one line whether training helped. An error is only logged: the tagger is saved already."""
    from tagwright.evaluation.holdout import compare_with_untrained
    from tagwright.tagger import zero_shot

    try:
        worse, sentence = compare_with_untrained(tagger, zero_shot.fit, documents, gold, supervised=supervised)
    except TagwrightError as error:
        _log.warning("not compared with the untrained method: %s", error)
        return
    if worse:
        _log.warning("%s", sentence)
    else:
        note(sentence)


def _write(tagger: Tagger, folder: Path, steps: Path, *, overwrite: bool) -> None:
    with replace_folder(folder, KIND, overwrite=overwrite) as target:
        for log in sorted(steps.rglob(LOG)):
            name = "-".join(("training", *log.relative_to(steps).parent.parts))
            shutil.copyfile(log, target / f"{name}.jsonl")
        tagger.write(target)


def _load_if_path(model: Tagger | Path | str) -> Tagger:
    return model if isinstance(model, Tagger) else Tagger.load(model)


def _identity(model: Tagger | Path | str) -> str:
    """A digest of a tagger to continue from: of its files, or of its labels and its training record."""
    if isinstance(model, Tagger):
        return digest([*model.vocabulary, model.training])
    files = ((file.name, file.stat()) for file in sorted(in_use(model).rglob("*")) if file.is_file())
    return digest((name, stat.st_size, stat.st_mtime_ns) for name, stat in files)


def _digest(value: Any) -> str:
    """A digest of an argument of a training."""
    items: Iterable[Any] = [value.indptr.tolist(), value.labels.tolist()] if isinstance(value, Run) else value.items()
    return digest(items)
