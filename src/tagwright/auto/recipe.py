"""`train auto`: inspect the data, train the stages that are worth it, and learn from labels how to combine them.

1. Make and show a plan: contents of the data, which stages of `evaluation.advice.STAGES` to try, and their cost.
2. Retrieve candidates with the stages of the zero-shot method. Count suggested labels and search similar documents in
   the corpus.
3. Train stages: on the labels an SVM, and the nearest labelled documents; on the other texts an encoder. They score
   each labelled document out of fold, without its labels. Leave out those without which the sum is clearly better.
4. Cross-validate a combiner without these stages and one with them, and keep the former unless the latter is clearly
   better, by more than one standard error. If it is clearly worse than the zero-shot method, keep that. From
   `plan.TRAINED_STAGES_ONLY` labelled documents on, the combiner is not tried without these stages.

A document without labels counts as unlabelled, not as a document that no label fits.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from tagwright.auto import combine, examples, plan, reranking, speed
from tagwright.auto.combiner import CombinerOptions, better, fit_combiner
from tagwright.auto.examples import Trial, Weighted
from tagwright.auto.out_of_fold import DEPL_CLS, KNN, KNN_DENSE, SVM, Fold, Folds, parts
from tagwright.auto.plan import Plan, Work
from tagwright.combining.candidate_features import CandidateFeatures
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.atomic import scratch_folder
from tagwright.core.checked import AtLeastOne, AtLeastZero, Checked, Distinct, Positive
from tagwright.core.garbage import seldom_collected
from tagwright.core.progress import note
from tagwright.core.saved import pack, unpack
from tagwright.core.steps import State, Steps
from tagwright.data.corpus import is_synthetic, taken
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.model_folder import PACKAGED, STATIC, has_packaged
from tagwright.encoders.precision import Precision
from tagwright.errors import ConfigError
from tagwright.evaluation.advice import next_step
from tagwright.llm.options import LlmOptions
from tagwright.papers import depl, rts
from tagwright.stages.dense import Dense
from tagwright.stages.linear.classifiers import Linear
from tagwright.tagger import Tagger, zero_shot
from tagwright.tagger.language_model import LLM_RANKING, with_keywords, with_model
from tagwright.tagger.zero_shot import StageName
from tagwright.text.language import AUTO, check, resolve
from tagwright.training.config import TrainingConfig
from tagwright.types import Document, Doubles, Longs, Retriever, Run

_log = logging.getLogger(__name__)

RTS = "rts"
"The name of the stage whose encoder RTS trains."

FEWER = 3
"""Folds of the combiner from `plan.TRAINED_STAGES_ONLY` documents on: two thirds of them are enough to train on,
in half the time."""


@dataclass(frozen=True, kw_only=True)
class Config(Checked):
    """The choices of `train auto`. Which stages are trained is not among them: see `evaluation.advice.STAGES`."""

    minutes: Positive = 10.0
    "Time limit: leave out stages that are predicted to take longer in all; the zero-shot method always stays."

    stages: Annotated[tuple[StageName, ...], Distinct()] = ("exact_match", "tfidf", "dense")
    "The stages of the zero-shot method."

    encoder: str = AUTO
    "The encoder of the dense stage, as for the zero-shot method."

    precision: Precision = "auto"
    "The precision of the encoder, as for the zero-shot method."

    language: str = AUTO
    """The language of the names: a code or a name ("fi", "finnish"), several as "de+en"; "auto" recognises it."""

    translation: bool = True
    "Whether labels are also searched by translated names, as for the zero-shot method."

    labels_per_document: Positive | None = None
    "How many labels a document has as a rule, as for the zero-shot method; not needed where documents have labels."

    corpus: AtLeastZero = 3000
    "Number of documents, drawn by the seed, to count suggested labels in and to search similar documents."

    candidates: AtLeastOne = 100
    "Number of candidates per document to re-rank."

    labelled: AtLeastOne = 1500
    "The most labelled documents that the combiner learns from, drawn by the seed; the other stages learn from all."

    llm: LlmOptions = field(default_factory=LlmOptions)
    """The language model that ranks the first candidates again, if one is named. Its calls are not among the
    minutes, they have a budget of their own."""

    seed: AtLeastZero = 0
    "Seed of all random choices."

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.language)

    @property
    def zero_shot(self) -> zero_shot.Config:
        """The options of the zero-shot method."""
        return zero_shot.Config(
            stages=self.stages,
            encoder=self.encoder,
            precision=self.precision,
            language=self.language,
            translation=self.translation,
            labels_per_document=self.labels_per_document,
        )

    @property
    def resolved(self) -> dict[str, Any]:
        """The encoder for the record: a model of the Hugging Face Hub with its revision."""
        return self.zero_shot.resolved


@dataclass(frozen=True, eq=False)
class Data:
    """The training data. gold: a row for each document. chosen: places of the labelled ones to train the combiner on.

    labelled, synthetic: places of those with labels, and of those among them that a language model wrote: stages learn
    from these, but nothing is measured or counted on them.
    judged: a row for each document, with the labels that reviewers accepted or rejected; if a row has any, the other
    labels of this document are unknown. steps: the store of finished stages.
    """

    documents: Sequence[Document]
    labels: Vocabulary
    gold: Run
    judged: Run | None
    chosen: Longs
    labelled: Longs
    synthetic: Longs
    steps: Steps

    def corpus(self, most: int, seed: int) -> Sequence[Document]:
        """The documents that no language model wrote; so many of them, where one wrote some."""
        if not len(self.synthetic):
            return self.documents
        others = np.setdiff1d(np.arange(len(self.documents)), self.synthetic)
        return taken(self.documents, np.sort(np.random.default_rng(seed).permutation(others)[:most]))

    @property
    def teaching(self) -> list[Document]:
        """The documents to train the combiner on, with their labels in `gold` only."""
        return combine.with_gold(taken(self.documents, self.chosen), self.gold.take(self.chosen), self.labels)

    def examples(self, name: str, make: Callable[[], Weighted]) -> Weighted:
        """Return candidates of the documents to train the combiner on, computed or read from the store."""
        found = Weighted.of(self.steps.once(name, lambda: make().state))
        judged = self.judged.take(self.chosen) if self.judged else None
        return replace(found, examples=combine.judged_only(found.examples, judged))


@dataclass(frozen=True, eq=False)
class Report:
    """The stages and combiners tried, and the chosen one.

    measured: nDCG@5 of each in cross-validation. brought: (documents,) the loss of nDCG@5 without a group of features.
    model: what is said of the language model, if one was asked.
    """

    chosen: str
    documents: int = 0
    measured: Mapping[str, float] = field(default_factory=dict)
    brought: Mapping[str, Doubles] = field(default_factory=dict)
    model: str = ""

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        if not self.measured:
            return []
        found = ", ".join(f"{name} {100 * value:.1f}" for name, value in self.measured.items())
        said = [f"nDCG@5 in cross-validation on {self.documents:,} labelled documents: {found}; kept: {self.chosen}"]
        if brought := ", ".join(f"{name} {_gain(lost)}" for name, lost in self.brought.items()):
            said.append(f"gain of each, in points: {brought}")
        return [*said, *filter(None, [self.model])]


def _gain(lost: Doubles) -> str:
    """The mean in points; why a group is kept that gains nothing. lost: (documents,) nDCG@5 lost without the group.

    -0.3 and 0.1 have the mean -0.1, within its standard error of 0.2.

    >>> _gain(np.array([0.5, 0.0])), _gain(np.array([-0.3, 0.1])), _gain(np.array([-0.2, -0.2]))
    ('+25.0', '-10.0 (kept: within noise)', '-20.0 (kept: without trees only)')
    """
    points = f"{100 * lost.mean():+.1f}"
    if lost.mean() >= 0:
        return points
    clear = better(np.zeros(len(lost)), lost, 1.0)
    return f"{points} (kept: {'without trees only' if clear else 'within noise'})"


@seldom_collected()
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
    """Return the best tagger that documents, labels and time allow. Log the plan before, and the result after.

    model: learn how to combine the stages of this tagger over its own labels, and train no others.
    gold: instead of the documents' own labels; a row without labels is of an unlabelled document. judged: see `Data`.
    steps: the store of finished stages. Never returns a tagger that cross-validation on the labelled documents finds
    worse than the zero-shot method, by more than one standard error. Raises TagwrightError.
    """
    if model is not None:
        return _combined(documents, config, model, gold, judged)
    started = time.perf_counter(), time.process_time()
    gold = labels.gold(documents, unknown="warn") if gold is None else gold
    labelled = np.flatnonzero(np.diff(gold.indptr) > 0)
    synthetic = labelled[[is_synthetic(each) for each in taken(documents, labelled)]]
    real = np.setdiff1d(labelled, synthetic)
    if len(synthetic) and len(real) < combine.FEWEST:
        raise ConfigError(f"synthetic documents need at least {combine.FEWEST} others with labels, got {len(real)}")
    drawn = np.sort(np.random.default_rng(config.seed).permutation(real)[: config.labelled])
    language = resolve(config.language, labels, documents)

    def begin(config: Config, steps: Steps) -> tuple[Config, Data, Tagger, Plan]:
        start = zero_shot.fit(labels, replace(config.zero_shot, language=language), documents)
        data = Data(documents, start.vocabulary, gold, judged, drawn, labelled, synthetic, steps)
        start = with_keywords(start, config.llm, data.teaching)
        return config, data, start, make_plan(data, start, config, language, started)

    config, data, start, found = begin(config, steps)
    if len(labelled) and config.encoder == AUTO and has_packaged() and "dense" in config.stages:
        slow = np.array(["combiner" in found.too_slow])  # stored: a resumed training may find another speed
        if steps.once("speed", lambda: State({"slow": slow})).arrays["slow"][0]:
            lighter = begin(replace(config, encoder=STATIC), steps.within("lighter"))
            if "combiner" in lighter[-1].stages:
                why = f"with {PACKAGED} no label could be used in {config.minutes:g} minutes on this machine"
                note(f"encoder {STATIC}: {why}")
                config, data, start, found = lighter
    for line in found.lines():
        note(line)
    if "combiner" in found.stages:
        tagger, report = _learned(data, start, found, config)
    else:
        tagger, report = with_model(start, config.llm), Report("zero_shot")
        if len(labelled) and "combiner" in found.left_out:
            why = found.left_out["combiner"]
            _log.warning("none of the %d labelled documents was used, without the combiner: %s", len(labelled), why)
    for line in filter(None, (*report.lines(), next_step(len(labelled)))):
        note(line)
    record = {
        **config.resolved,
        "stages": list(found.stages),
        "predicted": dict(found.seconds),
        "memory": found.memory,
        "kept": report.chosen,
    }
    measured = {name: round(value, 4) for name, value in report.measured.items()}
    brought = {name: round(float(lost.mean()), 4) for name, lost in report.brought.items()}
    return replace(tagger, training={"auto": {**record, "nDCG@5": measured, "brought": brought}})


def make_plan(data: Data, start: Tagger, config: Config, language: str, started: tuple[float, float]) -> Plan:
    """Plan the training. Tag a few documents and labels to measure the speed of this machine.

    started: wall and processor time when the training began.
    """
    holdings = plan.survey(data.documents, data.labels, data.gold, language, data.chosen.tolist())
    corpus, read = min(config.corpus, len(data.documents)), _read(data, config)
    texts = taken(data.documents, read) if len(data.chosen) else []
    dense = next((stage for stage in start.retrievers.values() if isinstance(stage, Dense)), None)
    holdings = replace(holdings, encoders=int(dense is not None))
    work = Work(
        encode_labels=dense.missing if dense else 0,
        encode_documents=plan.not_encoded(dense, texts) if dense else 0,
        encode_labelled=len(np.setdiff1d(data.labelled, read)) if dense else 0,
        corpus=corpus,
        examples=len(data.chosen),
        folds=len(parts(data.chosen, len(data.labelled) - len(data.synthetic))) if len(data.chosen) else 0,
    )
    encoded, dim = not (work.encode_documents or work.encode_labelled), dense.encoder.dim if dense else 0

    def planned(rates: speed.Rates) -> Plan:
        passed = min(time.perf_counter() - started[0], time.process_time() - started[1])
        return plan.plan(holdings, work, replace(rates, start=passed), config.minutes, dim=dim)

    if not len(data.documents):
        return planned(speed.Rates())
    return planned(
        speed.calibrate(
            start, data.documents, encoded=encoded, too_slow=lambda rates: "combiner" in planned(rates).too_slow
        )
    )


def _read(data: Data, config: Config) -> Longs:
    """Return places of the documents to read: the corpus and the labelled documents."""
    drawn = np.random.default_rng(config.seed).permutation(len(data.documents))[: config.corpus]
    return np.union1d(drawn, data.chosen)


def _combined(
    documents: Sequence[Document], config: Config, model: Tagger, gold: Run | None, judged: Run | None
) -> Tagger:
    """The stages of a tagger, combined as labels teach it, with nDCG@5 before and after, from 0 to 1, in the record."""
    options = CombinerOptions(documents=config.labelled, seed=config.seed)
    settings = combine.Config(corpus=config.corpus, combiner=options, candidates=config.candidates)
    found = combine.fit(documents, model, settings, gold=gold, judged=judged)
    if (combiner := found.combiner) is None:
        raise ConfigError(f"auto needs at least {combine.FEWEST} documents with labels of the vocabulary")
    measured = {"before": float(combiner.fixed.mean()), "after": float(combiner.measured.mean())}
    return replace(found.tagger, training={"before": model.training, "combined": {"nDCG@5": measured}})


def _learned(data: Data, start: Tagger, found: Plan, config: Config) -> tuple[Tagger, Report]:
    """Return the best of zero-shot method, combiner, and combiner with trained stages in cross-validation."""
    options = CombinerOptions(documents=config.labelled, seed=config.seed)
    options = options if len(data.chosen) < plan.TRAINED_STAGES_ONLY else replace(options, folds=FEWER)
    settings = combine.Config(
        corpus=config.corpus, candidates=config.candidates, exclude_self=found.holdings.exclude_self, combiner=options
    )
    richer = combine.with_more_stages(combine.without_confidence(start))
    described = _corpus(data, richer, settings)
    plain = data.examples("combiner", lambda: Weighted(combine.examples(richer, described, data.teaching))).examples
    fixed, trials = combine.ndcg_at_5(plain.run, plain.gold), list[Trial]()
    trained = [name for name in (SVM, KNN, KNN_DENSE, DEPL_CLS) if name in found.stages]
    if not trained or len(data.labelled) < plan.TRAINED_STAGES_ONLY:
        fitted = fit_combiner(plain, combine.ndcg_at_5, options)
        trials.append(Trial("combiner", combine.with_combiner(richer, described, fitted) or start, fitted))
    if trained:
        given = _trained_on_texts(data, found, config)
        trials.append(_with_trained(data, start, richer, described, options, trained, given))
    best = clearest(trials, options.margin)
    measured = {"zero_shot": float(fixed.mean()), **{each.name: float(each.fitted.measured.mean()) for each in trials}}
    if best.tagger is start or better(fixed, best.fitted.measured, options.margin):
        report = Report("zero_shot", len(fixed), measured)
        return _with_model(data, combine.with_curve(start, plain), plain.run, plain.gold, report, config)
    report = Report(best.name, len(fixed), measured, examples.brought(best, options))
    return _with_model(data, best.tagger, best.fitted.ranking, best.fitted.examples.gold, report, config)


def clearest(trials: Sequence[Trial], margin: float) -> Trial:
    """The first trial, or a later one that is better in cross-validation by more than `margin` standard errors.

    Fifty documents cannot tell a small gain from chance, and fewer stages tag faster.
    """
    best, *others = trials
    for each in others:
        if better(each.fitted.measured, best.fitted.measured, margin):
            best = each
    return best


def _with_model(
    data: Data, tagger: Tagger, ranked: Run, gold: Run, report: Report, config: Config
) -> tuple[Tagger, Report]:
    """Add the language model, if one is named and the ranking is better with it. ranked: out of fold."""
    if not config.llm.model:
        return tagger, report
    found = reranking.learn(tagger, ranked, gold, data.teaching, config.llm, config.seed)
    measured = {**report.measured, LLM_RANKING: found.after}
    return found.tagger, replace(report, measured=measured, model=found.line)


def _corpus(data: Data, tagger: Tagger, settings: combine.Config) -> CandidateFeatures:
    """What all documents tell, stored: no label of a document is read for it."""

    def describe() -> State:
        corpus = data.corpus(settings.corpus, settings.combiner.seed)
        described = combine.describe_corpus(tagger, corpus, settings)
        with scratch_folder() as folder:
            described.save(folder)
            return State({name: np.frombuffer(content, np.uint8) for name, content in pack(folder).items()})

    files = data.steps.once("corpus", describe).arrays
    folder = unpack({name: file.tobytes() for name, file in files.items()})
    return CandidateFeatures.load(folder, data.labels, LearnedCombiner)


def _trained_on_texts(data: Data, found: Plan, config: Config) -> dict[str, Retriever]:
    """The stages that no label trains: RTS with a static encoder, where the plan has it.

    It reads no document that the combiner learns from: those it would know better than the documents to be tagged.
    """
    if RTS not in found.stages:
        return {}
    read = np.union1d(data.chosen, data.synthetic)
    unread = taken(data.documents, np.setdiff1d(np.arange(len(data.documents)), read))
    training = TrainingConfig(steps=plan.RTS_STEPS, seed=config.seed)
    options = rts.Config(encoder="static", label_pairs=False, training=training)
    return {RTS: rts.fit(unread, data.labels, options, data.steps.within(RTS)).retrievers["dense"]}


def _with_trained(
    data: Data,
    start: Tagger,
    richer: Tagger,
    described: CandidateFeatures,
    options: CombinerOptions,
    names: Sequence[str],
    given: Mapping[str, Retriever],
) -> Trial:
    """The same with the stages of these names, which are trained on the labels, and the given ones.

    What the corpus tells stays what the other stages found there, who saw no labels.
    """
    documents = taken(data.documents, data.labelled)
    scored, gold = np.searchsorted(data.labelled, data.chosen), data.gold.take(data.labelled)
    dense = next(((name, stage) for name, stage in start.retrievers.items() if isinstance(stage, Dense)), None)

    def train_dual(documents: Sequence[Document], gold: Run, svm: Linear, steps: Steps) -> Retriever:
        config = depl.Config(variant="depl_cls", encoder="static", training=TrainingConfig(seed=options.seed))
        svms = Tagger(data.labels, {SVM: svm})
        return depl.fit(documents, data.labels, config, steps.within(DEPL_CLS), gold=gold, svm=svms).retrievers["dual"]

    folds = Folds(
        *(documents, data.labels, gold, scored, names),
        seed=options.seed,
        steps=data.steps,
        dense=dense,
        given=given,
        train_dual=train_dual,
        synthetic=len(data.synthetic),
    )
    made = data.examples("trained", lambda: examples.with_trained(richer, described, data.teaching, _numbered(folds)))
    fitted = fit_combiner(made.examples, combine.ndcg_at_5, replace(options, label_bias=False))
    stages = folds.last([name for name, weight in made.weights.items() if weight])
    added = " and ".join(stages) or "none"
    summed, joined = (
        replace(each, retrievers={**each.retrievers, **stages}) for each in (combine.without_confidence(start), richer)
    )
    weights = {name: made.weights[name] for name in stages}
    if tagger := combine.with_combiner(joined, examples.weighted(described, weights), fitted):
        return Trial(f"combiner with {added}", tagger, fitted)
    assert isinstance(summed.combiner, WeightedSum)
    summed = replace(summed, combiner=replace(summed.combiner, weights={**summed.combiner.weights, **weights}))
    return Trial(f"sum with {added}", combine.with_curve(summed, fitted.examples), fitted)


def _numbered(folds: Folds) -> Iterator[Fold]:
    """The folds, with places among the documents that are scored instead of all labelled ones."""
    return (Fold(np.searchsorted(folds.scored, fold.places), fold.stages) for fold in folds)
