"""`train auto`: inspect the data, train the stages that are worth it, and learn from labels how to combine them.

1. See what the data hold, and which stages of `out_of_fold.STAGES` they allow.
2. Retrieve candidates with the stages of the zero-shot method. Count suggested labels and search similar documents in
   the corpus.
3. Train stages, in order of worth, while time is left: on the labels an SVM, and the nearest labelled documents; on the
   other texts an encoder. They score each labelled document out of fold, without its labels.
4. Train a combiner of all stages. If cross-validation finds it clearly worse than the zero-shot method, by more than
   two standard errors, keep that.
5. Estimate the gain on new documents. Where it may be a loss, trust what was learned less: see `gain.fit_trusted`.

A document without labels counts as unlabelled, not as a document that no label fits.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from shlex import quote
from time import monotonic
from typing import Annotated, Literal, Self, TypeAlias

import numpy as np

from tagwright.auto import combination, examples
from tagwright.auto.gain import Shift, fit_trusted, gain_on_new, measure_shift, record_gain, say_gain
from tagwright.auto.out_of_fold import STAGES, Folds, lacking
from tagwright.auto.ranker import CombinerOptions, Examples, FittedCombiner, is_better, ndcg_at_5
from tagwright.combining.candidate_features import CandidateFeatures
from tagwright.core.atomic import scratch_folder
from tagwright.core.checked import AtLeastOne, AtLeastZero, Distinct, Positive
from tagwright.core.progress import detail, note
from tagwright.core.saved import pack, read_state, unpack, write_state
from tagwright.core.steps import State, Steps
from tagwright.data.corpus import distinct_texts, same_texts, take_documents
from tagwright.data.gold import excludes_self
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.model_folder import PACKAGED, STATIC, has_packaged
from tagwright.errors import ConfigError, setting
from tagwright.evaluation.advice import next_step
from tagwright.evaluation.resampling import Score
from tagwright.stages.by_language import unwrap_stage
from tagwright.stages.dense import Dense
from tagwright.tagger import Tagger, zero_shot
from tagwright.text.language import AUTO, resolve
from tagwright.types import Document, Doubles, Longs, Run

_log = logging.getLogger(__name__)

MANY = 1000
"From this many labelled documents on, three folds do: two thirds of them are enough to train on, in half the time."

TrainedStage: TypeAlias = Literal["combiner", "svm", "knn", "knn_dense", "depl_cls", "rts"]

Trial: TypeAlias = tuple[Tagger, FittedCombiner]
"A way to combine stages: the tagger that it gives, and what was learned for it."


@dataclass(frozen=True, kw_only=True)
class Config(zero_shot.StageOptions):
    """The options of `train auto`."""

    minutes: Positive = 10.0
    """Approximate time limit. Stages start in the first half, in order of value, and are then finished. The zero-shot
    method always remains."""

    trained: Annotated[tuple[TrainedStage, ...], Distinct()] | None = None
    """The stages to train besides the zero-shot method, however long they take, as the report of a training lists them;
    None: those that data and minutes allow."""

    corpus: AtLeastZero | None = None
    """Number of documents, drawn by the seed, in which suggested labels are counted and similar documents searched.
    None: 3,000, or 10,000 if the stages of a tagger are combined."""

    candidates: AtLeastOne = 100
    "Number of candidates per document to re-rank, the first ones of the fixed sum."

    candidates_each: AtLeastZero = CombinerOptions.candidates_each
    "Number of candidates of each stage to re-rank as well, even if no other stage finds them."

    labelled: AtLeastOne = 1500
    "The most labelled documents that the combiner learns from, drawn by the seed; the other stages learn from all."

    seed: AtLeastZero = 0
    "Seed of all random choices."

    @property
    def zero_shot(self) -> zero_shot.Config:
        """The options of the zero-shot method."""
        return zero_shot.Config(**{each.name: getattr(self, each.name) for each in fields(zero_shot.StageOptions)})

    def combining(self, corpus: int) -> CombinerOptions:
        """How stages are combined. corpus: the number of documents to read where the options name none."""
        return CombinerOptions(
            corpus=corpus if self.corpus is None else self.corpus,
            candidates=self.candidates,
            candidates_each=self.candidates_each,
            documents=self.labelled,
            seed=self.seed,
        )


@dataclass(frozen=True, eq=False)
class Data:
    """The training data. gold: a row for each document. chosen: places of the labelled ones to train the combiner on.

    labelled: places of those with labels. texts: how many different ones are labelled; a text is measured on once, and
    documents with the same text are not learned from where it is.
    judged: a row for each document, with the labels that reviewers accepted or rejected; if a row has any, the other
    labels of this document are unknown. steps: the store of finished stages.
    """

    documents: Sequence[Document]
    labels: Vocabulary
    gold: Run
    judged: Run | None
    chosen: Longs
    labelled: Longs
    texts: int
    config: Config
    steps: Steps

    @classmethod
    def of(
        cls,
        documents: Sequence[Document],
        labels: Vocabulary,
        gold: Run,
        judged: Run | None,
        config: Config,
        steps: Steps,
    ) -> Self:
        """Draw the documents that the combiner learns from."""
        labelled = np.flatnonzero(np.diff(gold.indptr) > 0)
        distinct = distinct_texts(documents, labelled)
        chosen = np.sort(np.random.default_rng(config.seed).permutation(distinct)[: config.labelled])
        return cls(documents, labels, gold, judged, chosen, labelled, len(distinct), config, steps)

    @property
    def teaching(self) -> list[Document]:
        """The documents to train the combiner on, with their labels in `gold` only."""
        return combination.with_gold(
            take_documents(self.documents, self.chosen), self.gold.take(self.chosen), self.labels
        )

    @property
    def unread(self) -> list[Document]:
        """The documents that teach nothing by their labels, as they were not chosen."""
        read = same_texts(self.documents, self.chosen)
        return take_documents(self.documents, np.setdiff1d(np.arange(len(self.documents)), read))

    def known(self, examples: Examples) -> Examples:
        """Leave out candidates of the documents to train the combiner on that no reviewer of theirs has judged."""
        return combination.judged_only(examples, self.judged.take(self.chosen) if self.judged else None)


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    *,
    gold: Run | None = None,
    judged: Run | None = None,
    model: Tagger | None = None,
) -> Tagger:
    """Return the best tagger that documents, labels and time allow. Log what the data allow, and the result.

    gold: instead of the documents' own labels; a row without labels is of an unlabelled document. judged: see `Data`.
    steps: the store of finished stages. model: the tagger whose stages are combined, in place of those of the zero-shot
    method and of trained ones. Never returns a tagger that cross-validation on the labelled documents finds worse than
    the zero-shot method, by more than two standard errors. Raises TagwrightError.
    """
    if model is not None:
        return _combine_tagger(model, documents, config, gold, judged)
    begun = monotonic()
    end = begun + 60 * config.minutes
    gold = labels.gold(documents, unknown="warn") if gold is None else gold
    config = replace(config, language=resolve(config.language, labels, documents))
    data = Data.of(documents, labels, gold, judged, config, steps)
    held = f"{len(documents):,} documents, {len(data.labelled):,} with labels; {len(labels):,} labels"
    note(f"the data: {held}; language {config.language}")
    try:
        if steps.has("slow"):  # a resumed training may find another speed
            raise combination.TooLateError
        return _learn_combiner(data, (begun + end) / 2)
    except combination.TooLateError:
        late = f"half of {config.minutes:g} minutes was over before the documents were read"
    if config.encoder == AUTO and has_packaged() and "dense" in config.stages:
        steps.within("slow").keep(State({"slow": np.ones(1)}), {})
        note(f"encoder {STATIC} in place of {PACKAGED}: {late}")
        data = replace(data, config=replace(config, encoder=STATIC), steps=steps.within("lighter"))
        with suppress(combination.TooLateError):
            return _learn_combiner(data, (monotonic() + end) / 2)
    return _report_untrained(_start_tagger(data)[1], data, late)


def _combine_tagger(
    model: Tagger, documents: Sequence[Document], config: Config, gold: Run | None, judged: Run | None
) -> Tagger:
    """Learn to combine the stages of a tagger, and record nDCG@5 before and after, from 0 to 1."""
    options = config.combining(CombinerOptions.corpus)
    tagger, combiner = combination.fit(documents, model, options, gold=gold, judged=judged)
    if combiner is None:
        raise ConfigError(
            f"{combination.FEWEST} documents with labels of the vocabulary are needed to combine, or more"
        )
    measured = {"before": float(combiner.fixed.mean()), "after": float(combiner.measured.mean())}
    gain = gain_on_new(combiner.measured - combiner.fixed, shift := Shift())
    note(f"gain on new documents: {say_gain(gain, shift)}")
    combined = {"nDCG@5": measured, "gain": record_gain(gain, shift, 1.0)}
    return replace(tagger, training={"before": model.training, "combined": combined})


def _start_tagger(data: Data) -> tuple[Data, Tagger]:
    """Return the data with the translated names of the labels, and the tagger of the zero-shot method."""
    start = zero_shot.train(data.documents, data.labels, data.config.zero_shot)
    return replace(data, labels=start.vocabulary), start


def _learn_combiner(data: Data, until: float) -> Tagger:
    """Return the combiner of all stages, or the zero-shot method where cross-validation finds that clearly better.

    until: when the last stage may begin. Raises TooLateError where the documents are not read by then.
    """
    config = data.config

    def in_time() -> bool:
        return config.trained is not None or monotonic() < until

    data, start = _start_tagger(data)
    names, exclude_self = _stages(data, start)
    if not names:
        return _report_untrained(start, data, lacking("combiner", {"labelled": data.texts}))
    options = replace(config.combining(3000), exclude_self=exclude_self)
    if len(data.chosen) >= MANY:
        options = replace(options, folds=3)
    richer = combination.with_more_stages(combination.without_confidence(start))
    described = _corpus(data, richer, options, in_time)
    plain = data.known(combination.examples(richer, described, data.teaching))
    ran, folds = ["combiner"], _folds(data, start, options)
    shift, fixed = measure_shift(described, folds, options), ndcg_at_5(plain.run, plain.gold)
    fit = partial(fit_trusted, options=options, fixed=fixed, shift=shift)
    if names[1:] and in_time():
        kept, trial, weights = _with_trained(data, start, richer, described, fit, folds, names[1:], in_time)
        ran += [name for name in names if name in weights]
    else:
        fitted = fit(plain)
        kept, trial = "combiner", (combination.with_combiner(richer, described, fitted) or start, fitted)
    if late := [name for name in names if name not in ran]:
        note(f"without {', '.join(late)}: half of {config.minutes:g} minutes was over, and the rest is to finish")
    return _keep_combiner(data, start, options, plain, kept, trial, ran, shift)


def _stages(data: Data, start: Tagger) -> tuple[list[str], bool]:
    """Return the stages to train in order of worth, and whether labels are never right for a document of the same id.

    Raises ConfigError where the data or this installation do not allow a stage that the options name.
    """
    learned_from, unread, own = set(data.chosen.tolist()), 0, list[int]()
    for place, document in enumerate(data.documents):
        unread += place not in learned_from and bool(document.title and (document.abstract or document.sections))
        own.append(data.labels.index.get(document.id, -1))
    encoders = sum(isinstance(unwrap_stage(stage), Dense) for stage in start.retrievers.values())
    held = {"labelled": data.texts, "unread": unread, "encoders": encoders}
    absent = {name: why for name in STAGES if (why := lacking(name, held))}
    if data.config.trained is None:
        for name, why in absent.items():
            detail(f"without {name}: {why}")
    elif wrong := [name for name in data.config.trained if name in absent]:
        raise ConfigError(f"trained has {wrong[0]}, which cannot be: {absent[wrong[0]]}; leave it out")
    wanted = STAGES.keys() if data.config.trained is None else {"combiner", *data.config.trained}
    names = [name for name in STAGES if name in wanted - absent.keys()]
    return names, excludes_self(np.array(own, np.int64), data.gold)


def _corpus(data: Data, tagger: Tagger, options: CombinerOptions, in_time: Callable[[], bool]) -> CandidateFeatures:
    """Describe the candidates of all documents, as a stored step: no label of a document is read for it."""

    def describe() -> State:
        described = combination.describe_corpus(tagger, data.documents, options, in_time)
        with scratch_folder() as folder:
            write_state(folder, "corpus", described.state())
            return State({name: np.frombuffer(content, np.uint8) for name, content in pack(folder).items()})

    files = data.steps.once("corpus", describe).arrays
    folder = unpack({name: file.tobytes() for name, file in files.items()})
    return CandidateFeatures.from_state(read_state(folder, "corpus"), data.labels)


def _folds(data: Data, start: Tagger, options: CombinerOptions) -> Folds:
    """The labelled documents, to train stages on some of them and score the others."""
    encoding = ((name, unwrap_stage(stage)) for name, stage in start.retrievers.items())
    return Folds(
        take_documents(data.documents, data.labelled),
        data.labels,
        data.gold.take(data.labelled),
        np.searchsorted(data.labelled, data.chosen),
        seed=options.seed,
        steps=data.steps,
        dense=next(((name, stage) for name, stage in encoding if isinstance(stage, Dense)), None),
        unread=data.unread,
    )


def _with_trained(
    data: Data,
    start: Tagger,
    richer: Tagger,
    described: CandidateFeatures,
    fit: Callable[[Examples], FittedCombiner],
    folds: Folds,
    names: Sequence[str],
    in_time: Callable[[], bool],
) -> tuple[str, Trial, Mapping[str, float]]:
    """The combiner with stages that are trained, after its name; and the weight of each that there was time for.

    What the corpus tells stays what the other stages found there, who saw no labels.
    """
    described_by_all, weights = examples.with_trained(richer, described, data.teaching, folds, names, in_time)
    fitted, stages = fit(data.known(described_by_all)), folds.last(weights)
    listed, steps = " and ".join(stages), combination.with_weights(richer.steps, weights)
    joined = replace(richer, retrievers={**richer.retrievers, **stages}, steps=steps)
    if tagger := combination.with_combiner(joined, described, fitted):
        return f"combiner with {listed}", (tagger, fitted), weights
    summed = combination.without_confidence(start)
    steps = combination.with_weights(summed.steps, weights)
    summed = replace(summed, retrievers={**summed.retrievers, **stages}, steps=steps)
    return f"sum with {listed}", (combination.with_curve(summed, fitted.examples), fitted), weights


def _keep_combiner(
    data: Data,
    start: Tagger,
    options: CombinerOptions,
    plain: Examples,
    kept: str,
    trial: Trial,
    ran: Sequence[str],
    shift: Shift,
) -> Tagger:
    """Keep what was learned; say what was tried, and what it brought.

    kept: the name of what was learned; the zero-shot method stays where it is clearly better in cross-validation. ran:
    the names of the stages that were trained.
    """
    fixed, (tagger, fitted), lost = ndcg_at_5(plain.run, plain.gold), trial, dict[str, Doubles]()
    measured = {"zero_shot": fixed, kept: fitted.measured}
    adds_nothing = fitted.ranker is None and not is_better(fitted.measured, fixed)
    if adds_nothing or is_better(fixed, fitted.measured):
        kept, tagger = "zero_shot", combination.with_curve(start, plain)
    else:
        lost = examples.measure_gains(fitted, options)
    stage, alone = examples.best_alone(fitted.examples)
    if is_better(scores := ndcg_at_5(alone.run, alone.gold), measured[kept]):
        note(f"{kept} has nDCG@5 {100 * measured[kept].mean():.1f}, and {stage} alone is clearly better: it is kept")
        kept, tagger, lost = f"{stage} alone", examples.with_stage_alone(trial[0], stage, alone), {}
        measured[kept] = scores
    means = {name: float(values.mean()) for name, values in measured.items()}
    tried = ", ".join(f"{name} {100 * value:.1f}" for name, value in means.items())
    gain = gain_on_new(measured[kept] - fixed, shift)
    where = f"in cross-validation on {len(fixed):,} labelled documents"
    beside = "" if kept == "zero_shot" else f", and {100 * means['zero_shot']:.1f} untrained,"
    note(f"kept: {kept}; nDCG@5 {100 * means[kept]:.1f}{beside} {where}")
    if kept != "zero_shot":
        kept_for = "" if gain.low >= 0 else "; kept, as what is learned is drawn to the sum already"
        note(f"gain on new documents: {say_gain(gain, shift)}{kept_for if kept.startswith('combiner') else ''}")
    detail(f"nDCG@5 {where}: {tried}")
    if kept.startswith("combiner"):
        first = f"the first {data.config.candidates} of the sum and {fitted.examples.candidates_each} of each stage"
        detail(f"candidates of a document: {first}")
    if lost:
        detail(f"gain of each, in points: {', '.join(f'{name} {_gain(each)}' for name, each in lost.items())}")
    flag, name, value = setting("trained", json.dumps(list(ran))).rpartition("trained=")
    again = flag + quote(name + value) if flag else name + value  # as it is typed in a shell, or in Python
    detail(f"to train these again, whatever the time: {again}")
    points = {name: round(value, 4) for name, value in means.items()}
    brought = {name: round(float(each.mean()), 4) for name, each in lost.items()}
    said = record_gain(gain, shift, fitted.trust if kept.startswith("combiner") else 1.0)
    return _finish_tagger(tagger, data, kept, ran, {"nDCG@5": points, "brought": brought, "gain": said})


def _report_untrained(start: Tagger, data: Data, why: str) -> Tagger:
    """Return the tagger of the zero-shot method. why: no stage is trained."""
    if len(data.labelled):
        _log.warning("none of the %d labelled documents was used, without the combiner: %s", len(data.labelled), why)
    nothing = {"nDCG@5": {}, "brought": {}, "gain": record_gain(Score(0.0, 0.0, 0.0), Shift(), 1.0)}
    return _finish_tagger(start, data, "zero_shot", [], nothing)


def _finish_tagger(
    tagger: Tagger, data: Data, kept: str, ran: Sequence[str], measured: Mapping[str, Mapping[str, float]]
) -> Tagger:
    """Return the tagger with the record of its training; say what to do next."""
    if line := next_step(len(data.labelled)):
        note(line)
    record = {**data.config.resolved, "stages": ["zero_shot", *ran], "kept": kept, **measured}
    return replace(tagger, training={"auto": record})


def _gain(lost: Doubles) -> str:
    """The mean in points; why a group is kept that gains nothing. lost: (documents,) nDCG@5 lost without the group.

    -0.3 and 0.1 have the mean -0.1, within its standard error of 0.2.

    >>> _gain(np.array([0.5, 0.0])), _gain(np.array([-0.3, 0.1])), _gain(np.array([-0.2, -0.2]))
    ('+25.0', '-10.0 (kept: within noise)', '-20.0 (kept: without trees only)')
    """
    points = f"{100 * lost.mean():+.1f}"
    if lost.mean() >= 0:
        return points
    clear = is_better(np.zeros(len(lost)), lost, 1.0)
    return f"{points} (kept: {'without trees only' if clear else 'within noise'})"
