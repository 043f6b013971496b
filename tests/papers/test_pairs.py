from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.data.gold import sample_labels, sample_pairs
from tagwright.errors import ConfigError
from tagwright.papers.pairs import (
    BLOCK,
    RtsOptions,
    Segmentation,
    Source,
    group_of,
    ict_pairs,
    labelled_pairs,
    rts_pairs,
    segments,
)
from tagwright.types import Document, Label, Pair, Run

TWO_WORDS = Document("two", "Title", "a b")


def one_word(*, title: bool = False, segment: bool = False, label: bool = False) -> RtsOptions:
    """Every word is a segment, and only these kinds of pairs are made."""
    return RtsOptions(min_words=1, max_words=1, title_pairs=title, segment_pairs=segment, label_pairs=label)


def texts(pairs: Sequence[Pair] | Source) -> list[tuple[str, str]]:
    return sorted((pair.anchor, pair.positive) for pair in (pairs(0) if isinstance(pairs, Source) else pairs))


def numbered(words: int) -> str:
    return " ".join(map(str, range(1, words + 1)))


def long_documents(count: int) -> list[Document]:
    """Documents of 200 words, all different."""
    return [Document(f"d{i}", f"Title {i}", " ".join(f"{i}-{j}" for j in range(200))) for i in range(count)]


def test_all_pairs_of_an_epoch_can_be_shuffled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of one pair: only blocks change places then, and of 320 pairs 310 stand before their neighbour."""
    monkeypatch.setattr("tagwright.papers.pairs.WINDOW", 1)
    documents, options = long_documents(320), RtsOptions(min_words=200, max_words=200, label_pairs=False)
    for full, least, most in ((False, 310, 320), (True, 0, 10)):
        drawn = list(rts_pairs(documents, [], replace(options, full_shuffle=full))(0))
        order = [int(pair.anchor.split()[1]) for pair in drawn]
        assert sorted(order) == list(range(320))
        assert least <= sum(b - a == 1 for a, b in pairwise(order)) <= most
    assert (replace(ict_pairs(documents), full_shuffle=True) + ict_pairs(documents)).full_shuffle


def test_documents_of_one_title_are_a_group_or_each_its_own() -> None:
    twins = [Document("a", "Bees", "They fly."), Document("b", "bees", "They sting.")]
    assert len({pair.group for pair in ict_pairs(twins)(0)}) == 1
    assert sorted(pair.group for pair in ict_pairs(twins, by_title=False)(0)) == [0, 1]


@given(st.integers(1, 30), st.integers(0, 99))
def test_every_segment_goes_with_the_title(k: int, epoch: int) -> None:
    pairs = rts_pairs([Document("d", "Title", numbered(k))], (), one_word(title=True))(epoch)
    assert Counter((pair.anchor, pair.positive) for pair in pairs) == Counter(
        ("Title", word) for word in numbered(k).split()
    )


@given(st.integers(2, 30), st.integers(0, 99))
def test_every_segment_goes_with_one_other_and_the_odd_one_out_with_segment_1(k: int, epoch: int) -> None:
    pairs = list(rts_pairs([Document("d", "Title", numbered(k))], (), one_word(segment=True))(epoch))
    assert len(pairs) == (k + 1) // 2
    assert all(pair.anchor != pair.positive for pair in pairs)
    uses = Counter(segment for pair in pairs for segment in (pair.anchor, pair.positive))
    assert uses == Counter([*numbered(k).split(), *(["1"] if k % 2 else [])])


def test_the_odd_one_out_may_be_any_segment_but_the_first() -> None:
    source = rts_pairs([Document("d", "Title", "1 2 3")], (), one_word(segment=True))
    drawn = {(pair.anchor, pair.positive) for epoch in range(50) for pair in source(epoch)}
    assert {("2", "1"), ("3", "1")} <= drawn <= {("1", "2"), ("1", "3"), ("2", "1"), ("3", "1")}


def test_kinds_of_pairs_add_up() -> None:
    labels = [Label("l", ("Label",))]

    def made(options: RtsOptions) -> set[frozenset[str]]:
        return set(map(frozenset, texts(rts_pairs([TWO_WORDS], labels, options))))

    title = {frozenset(("Title", "a")), frozenset(("Title", "b"))}
    segment, label = {frozenset(("a", "b"))}, {frozenset(("Label",))}
    assert made(one_word(title=True)) == title
    assert made(one_word(segment=True)) == segment
    assert made(one_word(label=True)) == label
    assert made(one_word(title=True, segment=True, label=True)) == title | segment | label


def test_a_label_with_description_is_paired_like_a_document_and_one_without_with_itself() -> None:
    labels = [Label("1", ("Bees", "Apoidea"), "fly sting"), Label("2", ("Wasps", "Vespidae"))]
    made = texts(rts_pairs([TWO_WORDS], labels, one_word(title=True, label=True)))
    wasps = ("Wasps; Vespidae", "Wasps; Vespidae")
    assert made == [("Bees", "fly"), ("Bees", "sting"), ("Title", "a"), ("Title", "b"), wasps]


def test_the_same_seed_and_epoch_give_the_same_pairs_and_others_other_cuts() -> None:
    documents = long_documents(3)

    def cuts(seed: int, epoch: int) -> list[Pair]:
        return list(rts_pairs(documents, (), seed=seed)(epoch))

    assert cuts(seed=1, epoch=2) == cuts(seed=1, epoch=2)
    assert set(cuts(seed=1, epoch=2)).isdisjoint(cuts(seed=1, epoch=3))
    assert set(cuts(seed=1, epoch=2)).isdisjoint(cuts(seed=2, epoch=2))


def test_the_cuts_of_a_document_depend_on_its_position_alone() -> None:
    documents = long_documents(BLOCK + 5)
    others = [Document(document.id, "Other", "other words") for document in documents]
    for position in (0, BLOCK, BLOCK + 4):
        mine = [*others[:position], documents[position], *others[position + 1 :]]
        alone = {pair for pair in rts_pairs(mine, ())(7) if pair.anchor != "Other"}
        assert alone == {pair for pair in rts_pairs(documents, ())(7) if pair.group == group_of(f"Title {position}")}


def test_neighbours_in_the_corpus_are_not_neighbours_in_the_epoch() -> None:
    titles = [pair.positive for pair in ict_pairs(long_documents(300))(0)]
    places = [int(title.split()[1]) for title in titles]
    assert sorted(places) == list(range(300))
    assert np.mean(np.abs(np.diff(places)) == 1) < 0.05  # two of 300, by chance
    assert titles != [pair.positive for pair in ict_pairs(long_documents(300))(1)]


def test_an_epoch_larger_than_the_shuffled_window_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = texts(rts_pairs(long_documents(40), ()))
    monkeypatch.setattr("tagwright.papers.pairs.WINDOW", 1000)
    assert texts(rts_pairs(long_documents(40), ())) == whole


@given(st.integers(1, 2 * BLOCK + 1), st.integers(1, 2 * BLOCK + 1))
def test_a_mixture_has_the_pairs_of_both_sources(here: int, there: int) -> None:
    def source(name: str, items: int) -> Source:
        return Source(items, lambda block, _: [Pair(name, str(item), item) for item in block])

    mixed = source("here", here) + source("there", there)
    assert Counter(mixed(3)) == Counter([*source("here", here)(3), *source("there", there)(3)])


def test_groups_join_a_document_a_title_shared_and_a_label_of_that_name_and_nothing_else() -> None:
    documents = [
        Document("1", "Honey bee", "a b c"),
        Document("2", "Wasp", "d e"),
        Document("3", "Honey  Bee", "f g"),
        Document("4", "", "h i"),
        Document("5", "", "j k"),
    ]
    labels = [Label("x", ("honey bee",)), Label("y", ("Hornet",))]
    groups: dict[int, set[str]] = {}
    for pair in rts_pairs(documents, labels, one_word(title=True, segment=True, label=True))(0):
        groups.setdefault(pair.group, set()).update((pair.anchor, pair.positive))
    assert sorted(map(sorted, groups.values())) == [
        ["Honey  Bee", "Honey bee", "a", "b", "c", "f", "g", "honey bee"],
        ["Hornet"],
        ["Wasp", "d", "e"],
        ["h", "i"],
        ["j", "k"],
    ]


def test_self_pairs_are_titles_and_names_of_labels_with_themselves() -> None:
    options = RtsOptions(min_words=1, max_words=1, segment_pairs=False, self_pairs=True)
    documents = [Document("1", "Bees", "They fly."), Document("2", "Wasps")]
    pairs = rts_pairs(documents, [Label("a", ("Insects", "Bugs"), "Six legs.")], options)(0)
    assert sorted((pair.anchor, pair.positive) for pair in pairs) == [
        ("Bees", "Bees"), ("Bees", "They"), ("Bees", "fly."), ("Insects", "Insects"), ("Wasps", "Wasps"),
    ]  # fmt: skip


def test_a_title_is_taken_out_of_most_sentences_of_its_context() -> None:
    """Of 1,000 sentences 900 lose it, give or take 30: three standard deviations of about 9.5."""
    documents = [Document("1", "Bees", " ".join(["All Bees fly."] * 1000)), Document("2", "Wasps", "They fly.")]
    always = {pair.positive: pair.anchor for pair in ict_pairs(documents, without_title=1.0)(0)}
    assert always == {"Bees": " ".join(["All  fly."] * 1000), "Wasps": "They fly."}
    left = [
        next(pair.anchor for pair in ict_pairs(documents, without_title=0.9)(epoch) if pair.positive == "Bees")
        for epoch in range(2)
    ]
    assert all(70 <= context.count("Bees") <= 130 for context in left)
    assert left[0] != left[1]  # drawn anew in each epoch
    assert [pair.anchor.count("Bees") for pair in ict_pairs(documents[:1])(0)] == [1000]


def test_ict_pairs_the_text_below_the_title_with_the_title_where_there_are_both() -> None:
    documents = [TWO_WORDS, Document("1", "No text"), Document("2", "", "No title")]
    assert texts(ict_pairs(documents)) == [("a b", "Title")]


def test_labelled_pairs_follow_the_run_and_are_grouped_by_label() -> None:
    documents = [TWO_WORDS, Document("1", "Other"), Document("2", "None")]
    labels = [Label("x", ("X",), "ten"), Label("y", ("Y",)), Label("z", ("Z",))]
    run = Run.from_rows([{0: 0.9, 1: 0.5, 2: 0.1}, {1: 0.7}, {}])
    pairs = list(labelled_pairs(documents, labels, run.top(2))(0))
    assert texts(pairs) == [("Other", "Y"), ("Title\na b", "X. ten"), ("Title\na b", "Y")]
    assert {(pair.positive, pair.group) for pair in pairs} == {("X. ten", group_of("X")), ("Y", group_of("Y"))}


GOLD = Run.from_rows([[label for label in range(20) if (document + label) % 3 == 0] for document in range(30)])
"Thirty documents, of twenty labels those that make a multiple of 3 with it: 200 pairs, ten of each label."


def cells(run: Run) -> set[tuple[int, int]]:
    return set(zip(run.rows.tolist(), run.labels.tolist(), strict=True))


def test_a_share_of_labels_keeps_all_pairs_of_as_many_labels() -> None:
    few = sample_labels(GOLD, 20, 0.2, seed=1)
    kept = set(few.labels.tolist())
    assert len(kept) == 4
    assert cells(few) == {(document, label) for document, label in cells(GOLD) if label in kept}
    assert len(few) == 30


@pytest.mark.parametrize("sample", [sample_pairs, lambda gold, share, seed: sample_labels(gold, 20, share, seed=seed)])
def test_samples_are_seeded_nested_and_never_empty(sample: Callable[..., Run]) -> None:
    one, five, tiny = (cells(sample(GOLD, share, seed=3)) for share in (0.2, 0.4, 1e-6))
    assert tiny
    assert tiny < one < five < cells(sample(GOLD, 1, seed=3)) == cells(GOLD)
    assert one == cells(sample(GOLD, 0.2, seed=3)) != cells(sample(GOLD, 0.2, seed=4))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"min_words": 81}, "min_words is 81 and max_words 80"),
        ({"min_words": 0}, "at least 1"),
        ({"segmentation": "random "}, 'segmentation is "random ", expected one of random, fixed, natural'),
        ({"title_pairs": False, "segment_pairs": False, "label_pairs": False}, "all off"),
    ],
)
def test_options_that_cannot_give_a_pair_are_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        RtsOptions(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("documents", "options", "problem"),
    [
        ([Document("1", " ", "a b")], one_word(title=True, segment=True), "none of 1 documents has a title; switch"),
        ([Document("1", "Title")] * 2, one_word(title=True), "none of 2 documents gives a pair: title_pairs needs"),
        ([Document("1", "Title", "a")], one_word(segment=True), "segment_pairs text for two segments"),
        ([Document("1", "A"), Document("2", "", "a")], one_word(title=True), "title_pairs needs a title and text"),
        ([TWO_WORDS], one_word(label=True), "there are no labels"),
    ],
)
def test_documents_that_cannot_give_an_rts_pair_are_refused(
    documents: list[Document], options: RtsOptions, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        rts_pairs(documents, (), options)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ict_pairs([Document("1", "Title")]), "none of 1 documents has both a title and text below it"),
        (lambda: labelled_pairs([TWO_WORDS], [], Run.from_rows([[]])), "has both text and a label"),
        (lambda: sample_pairs(GOLD, 1.5), "share is 1.5, expected more than 0 and at most 1"),
        (lambda: sample_labels(GOLD, 20, 0), "share is 0, expected"),
    ],
)
def test_sources_without_pairs_and_impossible_shares_are_refused(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make()


BOUNDS = st.tuples(st.integers(1, 12), st.integers(0, 12)).map(lambda drawn: (drawn[0], drawn[0] + drawn[1]))
SEEDS = st.integers(0, 2**32 - 1)


def counted_words(words: int) -> str:
    return " ".join(map(str, range(words)))


@given(st.text(alphabet="aB.,é \n\t", max_size=200), BOUNDS, st.sampled_from(["random", "fixed"]), SEEDS)
def test_segments_one_after_the_other_are_the_words_as_they_were(
    text: str, bounds: tuple[int, int], kind: Segmentation, seed: int
) -> None:
    pieces = segments(text, kind, *bounds, np.random.default_rng(seed))
    assert " ".join(pieces).split() == text.split()
    assert all(pieces)


@given(st.integers(1, 100), BOUNDS, st.sampled_from(["random", "fixed"]), SEEDS)
def test_only_the_last_segment_may_leave_the_bounds_and_only_by_half_the_minimum(
    words: int, bounds: tuple[int, int], kind: Segmentation, seed: int
) -> None:
    shortest, longest = bounds
    *inner, last = map(len, map(str.split, segments(counted_words(words), kind, *bounds, np.random.default_rng(seed))))
    assert all(shortest <= length <= longest for length in inner)
    assert last >= shortest / 2 or not inner
    assert last < longest + shortest / 2


def test_both_bounds_are_drawn_and_all_between_about_equally_often() -> None:
    rng = np.random.default_rng(0)
    first = [len(segments(counted_words(100), "random", 40, 43, rng)[0].split()) for _ in range(4000)]
    lengths, counts = np.unique(first, return_counts=True)
    assert lengths.tolist() == [40, 41, 42, 43]
    assert counts.min() > 850  # a quarter of 4,000, less five standard deviations


@pytest.mark.parametrize(
    ("words", "lengths"), [(139, [60, 79]), (140, [60, 60, 20]), (60, [60]), (61, [61]), (40, [40]), (3, [3])]
)
def test_last_segment_shorter_than_half_the_minimum_is_merged(words: int, lengths: list[int]) -> None:
    pieces = segments(counted_words(words), "fixed", 40, 80, np.random.default_rng(0))
    assert [len(piece.split()) for piece in pieces] == lengths
