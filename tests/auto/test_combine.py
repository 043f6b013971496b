"""A combiner learned from labelled documents: from documents to a saved tagger."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.fixed import Fixed
from tests.tiny import tiny_encoder

from tagwright.auto import combination
from tagwright.auto.ranker import CombinerOptions
from tagwright.combining.candidate_features import CandidateFeatures, FeatureOptions
from tagwright.combining.confidence import Mapped
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.pool import PoolOptions
from tagwright.combining.reranked import Reranked
from tagwright.combining.steps import find_last
from tagwright.combining.weighted_sum import AppendLabels, WeightedSum
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.tagger import Tagger
from tagwright.tagger.confidences import with_confidences
from tagwright.types import Document, Label, Retriever, Run

pytestmark = pytest.mark.usefixtures("quick_auto")

NAMES = ("honey", "wasp", "flower", "market", "money", "river", "water", "stone")
LABELS = Vocabulary([Label(name, (name,)) for name in NAMES])
UNKNOWN = "Zebras graze"


def document(number: int, *, labelled: bool = True) -> Document:
    """One whose title names two labels, and whose text one that alone is right: the sum would have those first."""
    rng = np.random.default_rng(number)
    first, second, right = (NAMES[place] for place in rng.permutation(len(NAMES))[:3])
    labels = (right,) if labelled else ()
    return Document(f"d{number}", title=f"{first} {second}", abstract=f"About {right} only", labels=labels)


TRAINING = [document(number, labelled=number < 40) for number in range(60)]
OTHERS = [document(number) for number in range(100, 130)]


@pytest.fixture(scope="module", name="plain")
def weighted_sum_of_stages(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    encoder = BiEncoder.load(str(tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")))
    retrievers: dict[str, Retriever] = {
        "exact_match": ExactMatch(LABELS, ExactMatchOptions()),
        "tfidf": Lexical(LABELS, LexicalOptions(weighting="tfidf", text_field="title_and_abstract")),
        "dense": Dense(LABELS, encoder, DenseOptions(k=4)),
    }
    return Tagger(LABELS, retrievers)


@pytest.fixture(scope="module", name="learned")
def combined_with_labels(plain: Tagger) -> Tagger:
    tagger, combiner = combination.fit(TRAINING, plain)
    assert combiner
    assert combiner.gain > 0.2
    return tagger


def precision(tagger: Tagger) -> float:
    firsts = [labels[0] for labels, _ in tagger.tag(OTHERS, k=1)]
    return float(np.mean([LABELS.ids[label] == each.labels[0] for label, each in zip(firsts, OTHERS, strict=True)]))


def test_what_the_labels_teach_is_learned(plain: Tagger, learned: Tagger) -> None:
    assert precision(plain) < 0.5
    assert precision(learned) > 0.9


def test_confidences_come_with_the_suggestions(learned: Tagger) -> None:
    run = learned.tag(OTHERS)
    assert run.confidences is not None
    first = run.confidences[run.indptr[:-1]]
    assert first.mean() > run.confidences.mean()


def test_confidences_are_learned_anew_where_a_stage_was_trained_on(learned: Tagger) -> None:
    """Where nothing that is suggested is right, Platt's targets leave next to nothing."""
    wrong = Run.from_rows([{LABELS.index["stone"]: 1.0}] * len(OTHERS))
    never = [replace(each, title="honey", abstract=f"About wasp only {place}") for place, each in enumerate(OTHERS)]
    taught = with_confidences(learned, never, wrong, anew=True).tag(OTHERS).confidences
    before = learned.tag(OTHERS).confidences
    assert taught is not None
    assert before is not None
    assert taught.max() < 0.1 < before.max()
    assert with_confidences(learned, never, wrong) is learned


def test_nothing_is_lost_and_candidates_that_are_not_described_follow_in_the_order_of_the_sum(
    plain: Tagger, learned: Tagger
) -> None:
    narrow, before = (
        combination.fit(TRAINING, plain, CombinerOptions(candidates=3, candidates_each=0))[0],
        plain.tag(OTHERS, k=100),
    )
    assert [set(labels) for labels, _ in learned.tag(OTHERS, k=100)] == [set(labels) for labels, _ in before]
    for (after, _), (labels, _) in zip(narrow.tag(OTHERS, k=100), before, strict=True):
        assert sorted(after[:3]) == sorted(labels[:3])
        assert after[3:].tolist() == labels[3:].tolist()


@pytest.mark.parametrize(("among", "each"), [(1, 1), (20, 1), (40, 0)])
def test_the_first_ones_of_a_stage_are_candidates_where_labelled_documents_have_them(among: int, each: int) -> None:
    """The sum has "honey" first, and a stage of no weight "river", which one document of so many has: 5% are enough."""
    stages: dict[str, Retriever] = {"words": Fixed({0: 2.0, 1: 1.0}), "alone": Fixed({5: 3.0})}
    tagger = Tagger(LABELS, stages, steps=(WeightedSum(weights={"alone": 0.0}),))
    described = CandidateFeatures(LABELS, FeatureOptions(candidates=1, candidates_each=1))
    documents = [Document(str(number), "x", labels=("honey" if number else "river",)) for number in range(among)]
    found = combination.examples(tagger, described, documents)
    assert found.candidates_each == each
    assert {tuple(labels.tolist()) for labels, _ in found.run} == {(0, 5) if each else (0,)}
    assert len(found.features.values) == (1 + each) * among


def test_an_empty_document_gets_nothing(learned: Tagger) -> None:
    assert len(learned.tag([Document("empty")]).labels) == 0
    assert len(learned.tag([])) == 0


def test_an_explained_suggestion_says_what_each_group_of_features_added(plain: Tagger, learned: Tagger) -> None:
    step, (first, *others) = find_last(learned.steps, LearnedCombiner), learned.explain(OTHERS[0])
    for other in others:  # the constant is the same for all candidates
        added = sum(each.added for each in first.contributions) - sum(each.added for each in other.contributions)
        assert added == pytest.approx(first.score - other.score, abs=1e-4)
    assert step
    names = [each.feature for each in first.contributions]
    assert len(names) == len(set(names))
    assert set(names) == {name.partition(": ")[0] for name in step.ranker.names}
    sizes = [abs(each.added) for each in first.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert first.evidence
    best = plain.explain(OTHERS[0])[0]
    assert sum(each.added for each in best.contributions) == pytest.approx(best.score, abs=1e-4)
    assert learned.suggest(OTHERS[0])[0].contributions == ()


def test_other_labels_need_no_training(learned: Tagger) -> None:
    fewer = learned.with_labels([*reversed(LABELS), Label("new", ("zebras",))])
    suggested = [each.id for each in fewer.suggest(Document("x", title="zebras", abstract="About honey only"))]
    assert {"new", "honey"} <= set(suggested)
    wanted = learned.tag(OTHERS, k=1).labels
    assert [fewer.vocabulary.ids[label] for label in fewer.tag(OTHERS, k=1).labels] == [LABELS.ids[i] for i in wanted]


def test_without_labels_the_tagger_stays_as_it_is(plain: Tagger) -> None:
    assert combination.fit([replace(each, labels=()) for each in TRAINING], plain) == (plain, None)


def test_labels_of_other_documents_are_never_read(plain: Tagger) -> None:
    more = [replace(each, labels=("honey",)) if not each.labels else each for each in TRAINING]
    config = CombinerOptions()
    tagger = combination.with_more_stages(plain)
    one, other = (combination.describe_corpus(tagger, each, config) for each in (TRAINING, more))
    assert one.label_features.keys() == other.label_features.keys()
    for name, numbers in one.label_features.items():
        assert np.array_equal(numbers, other.label_features[name])


def test_a_document_that_is_a_label_is_no_candidate_of_itself(plain: Tagger) -> None:
    documents = [replace(each, id=NAMES[number % 8]) for number, each in enumerate(TRAINING)]
    tagger = combination.with_more_stages(plain)
    described = combination.describe_corpus(tagger, documents, CombinerOptions(exclude_self=True))
    pool = tagger.candidates(documents[:8])
    found = described.candidates(pool, tagger.rank(pool))
    assert all(place not in labels for place, (labels, _) in enumerate(found))


@pytest.mark.parametrize("own", [False, True])
def test_documents_that_are_labels_are_excluded_unless_one_is_its_own(plain: Tagger, own: bool) -> None:
    documents = [replace(each, id=next(name for name in NAMES if name not in each.labels)) for each in TRAINING]
    documents[0] = replace(documents[0], id=documents[0].labels[0]) if own else documents[0]
    for given, excluded in ((None, not own), (own, own)):  # what is set stays
        steps = combination.fit(documents, plain, CombinerOptions(exclude_self=given))[0].steps
        step = find_last(steps, LearnedCombiner)
        assert step
        assert step.described.options.exclude_self is excluded


def test_more_is_learned_on_top_of_a_learned_combiner_but_never_on_two(learned: Tagger) -> None:
    step = find_last(learned.steps, LearnedCombiner)
    assert step
    found = combination.fit(TRAINING, learned)[1]
    assert found
    fitted = replace(found, ranker=step.ranker, bias=step.bias)  # as if it were better
    for _ in range(2):
        tagger = combination.with_combiner(learned, step.described, fitted)
        assert tagger
        assert [type(each) for each in tagger.steps].count(LearnedCombiner) == 2
        learned = tagger


def test_a_stage_whose_labels_follow_the_sum_is_learned_from(plain: Tagger) -> None:
    pool = PoolOptions(exclude=("tfidf",))
    followed = (WeightedSum(), AppendLabels(by="tfidf"))
    tagger = combination.fit(TRAINING, replace(plain, steps=followed, pool=pool))[0]
    first, *_ = tagger.steps
    assert [type(step) for step in tagger.steps] == [WeightedSum, LearnedCombiner, Mapped, NoneFits]
    assert isinstance(first, WeightedSum)
    assert first.weight("tfidf") == 0
    assert precision(tagger) > 0.9


def test_a_combiner_fits_only_the_stages_it_was_trained_with(plain: Tagger, learned: Tagger) -> None:
    with pytest.raises(ConfigError, match="exact_match_in_abstract"):
        replace(plain, steps=learned.steps)


def test_a_tagger_that_a_language_model_ranks_again_is_refused_with_a_remedy(plain: Tagger) -> None:
    steps = (WeightedSum(), Reranked(by="again"))
    tagger = replace(plain, rerankers={"again": ExactMatch(LABELS)}, steps=steps)
    with pytest.raises(ConfigError, match=r"train a tagger without it \(reviews=FILE\).* llm\.model=NAME"):
        combination.fit(TRAINING, tagger)
