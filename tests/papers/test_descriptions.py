from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tests.saved import saved
from tests.tiny import DIM, _tokenizer, tiny_encoder

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.static import distil
from tagwright.papers.descriptions import (
    ClassifierWeights,
    DescriptionRetriever,
    DescriptionRetrieverOptions,
    cut_to_tokens,
    encoder,
    pseudo_description,
    side,
)
from tagwright.stages.dense.index import Storage, Vectors
from tagwright.types import Document, Floats, Label, Retriever, Run

LABELS = [Label("1", ("bee",), "honey"), Label("2", ("market",)), Label("3", ("river",)), Label("4", ("stone",))]
KEYWORDS = {"2": ("stock", "money"), "3": ("water",)}
DOCUMENTS = [Document("a", title="Honey bee. Market stock."), Document("b", title="rain"), Document("e", title=" ")]
OPTIONS = DescriptionRetrieverOptions(storage="float32")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[BiEncoder, BiEncoder]:
    folder = tmp_path_factory.mktemp("encoder")
    distil(folder / "static", str(tiny_encoder(folder / "tiny")))
    chance = torch.Generator().manual_seed(0)
    poolers = [torch.nn.Linear(DIM, DIM), torch.nn.Linear(DIM, DIM)]
    for pooler in poolers:
        pooler.weight.data = torch.randn(DIM, DIM, generator=chance)
        pooler.bias.data = torch.randn(DIM, generator=chance)
    shared = encoder(SentenceTransformer(str(folder / "static"), device="cpu"))
    return BiEncoder.of(side(shared, poolers[0], "cls")), BiEncoder.of(side(shared, poolers[1], "mean"))


def weights_of(rows: list[int], storage: Storage = "float32") -> ClassifierWeights:
    vectors: Floats = np.random.default_rng(1).standard_normal((len(rows), DIM), np.float32)
    return ClassifierWeights(np.array(rows, np.int32), Vectors.of(vectors, storage))


def sigmoid(logits: Floats) -> Floats:
    found: Floats = (1 / (1 + np.exp(-logits))).astype(np.float32)
    return found


def expected(sides: tuple[BiEncoder, BiEncoder], vectors: ClassifierWeights | None, *, texts: bool) -> Floats:
    """(2, 4) Eq. 4 for the documents with text, written out."""
    queries = sides[0].model.encode([document.text for document in DOCUMENTS[:2]])
    said = ["bee. honey", "market. stock money", "river. water", "stone"]
    by_text: Floats = sigmoid(queries @ sides[1].model.encode(said).T)
    if vectors is None:
        return by_text
    chances = by_text.copy() if texts else np.zeros_like(by_text)
    for row, label in enumerate(vectors.labels.tolist()):
        own = sigmoid(queries @ vectors.vectors[np.array([row])][0])
        chances[:, label] = (by_text[:, label] + own) / 2 if texts else own
    return chances


@pytest.mark.parametrize("kind", ["depl", "depl_cls", "classifier"])
def test_labels_are_ranked_by_the_probabilities_of_the_paper(kind: str, sides: tuple[BiEncoder, BiEncoder]) -> None:
    texts, vectors = kind != "classifier", None if kind == "depl" else weights_of([0, 2, 3])
    stage: Retriever = DescriptionRetriever(LABELS, sides[0], sides[1] if texts else None, vectors, KEYWORDS, OPTIONS)
    chances = expected(sides, vectors, texts=texts)
    run = stage(DOCUMENTS)
    found = np.zeros((2, 4), np.float32)
    found[run.rows, run.labels] = run.scores
    np.testing.assert_allclose(found, chances, atol=1e-5)
    assert np.diff(run.indptr).tolist() == ([4, 4, 0] if texts else [3, 3, 0])
    assert (np.diff(run[0][1]) <= 0).all()
    everything = Run.from_rows([dict.fromkeys(range(4), 1.0)] * 2)
    np.testing.assert_allclose(
        stage.score(stage.read(DOCUMENTS[:2]), everything), chances[everything.rows, everything.labels], atol=1e-5
    )


def test_a_new_label_is_found_by_its_name_and_the_others_stay_as_they_were(sides: tuple[BiEncoder, BiEncoder]) -> None:
    stage = DescriptionRetriever(LABELS, *sides, weights_of([0, 2]), KEYWORDS, OPTIONS)
    new = [LABELS[2], Label("9", ("rain",)), LABELS[0]]
    changed = stage.with_labels(new)
    before, after = stage(DOCUMENTS[:2]), changed(DOCUMENTS[:2])
    for document in range(2):
        old, now = (dict(zip(*run[document], strict=True)) for run in (before, after))
        assert now[0] == pytest.approx(old[2], abs=1e-6)
        assert now[2] == pytest.approx(old[0], abs=1e-6)
        by_name = sides[0].model.encode(DOCUMENTS[document].text) @ sides[1].model.encode("rain")
        assert now[1] == pytest.approx(1 / (1 + np.exp(-by_name)), abs=1e-5)
    back = changed.with_labels(LABELS)
    assert back.weights is not None
    assert back.weights.labels.tolist() == [0, 2]
    np.testing.assert_allclose(back(DOCUMENTS[:2]).scores, before.scores, atol=1e-6)


def test_texts_are_cut_edited_and_for_de_ret_only_names(sides: tuple[BiEncoder, BiEncoder]) -> None:
    stage = DescriptionRetriever(LABELS, *sides, None, KEYWORDS, replace(OPTIONS, tokens=3))
    assert stage.label_texts(LABELS) == ["bee. honey", "market. stock", "river. water", "stone"]
    names = DescriptionRetriever(LABELS, *sides, None, KEYWORDS, replace(OPTIONS, names_only=True))
    assert names.label_texts(LABELS) == ["bee", "market", "river", "stone"]


def test_the_sentence_that_speaks_for_a_label_is_quoted_first(sides: tuple[BiEncoder, BiEncoder]) -> None:
    stage = DescriptionRetriever(LABELS, *sides, weights_of([0]), KEYWORDS, OPTIONS)
    document, text = DOCUMENTS[0], DOCUMENTS[0].text
    spans = stage.spans(document, [1])[0]
    assert {text[quote.start : quote.end] for quote in spans} == {"Honey bee.", "Market stock."}
    alone = [
        stage.score(stage.read([Document("s", title=text[quote.start : quote.end])]), Run.from_rows([[1]]))
        for quote in spans
    ]
    assert [quote.weight for quote in spans] == pytest.approx([float(chance[0]) for chance in alone], abs=1e-5)
    assert spans[0].weight >= spans[1].weight
    assert stage.spans(DOCUMENTS[2], [1])[0] == ()


@pytest.mark.parametrize("kind", ["depl", "depl_cls", "classifier"])
def test_what_is_saved_is_the_same_when_loaded_and_its_towers_load_elsewhere(
    kind: str, sides: tuple[BiEncoder, BiEncoder], tmp_path: Path
) -> None:
    texts = sides[1] if kind != "classifier" else None
    stage = DescriptionRetriever(
        LABELS,
        sides[0],
        texts,
        None if kind == "depl" else weights_of([1, 3], "float16"),
        KEYWORDS,
        DescriptionRetrieverOptions(k=3),
    )
    state = saved(stage, tmp_path)
    assert (state["record"]["asked"], state["record"]["computed"]) == ("auto", "float32")  # it is static
    loaded = DescriptionRetriever.from_state(state, LABELS)
    before, after = stage(DOCUMENTS), loaded(DOCUMENTS)
    assert before.labels.tolist() == after.labels.tolist()
    np.testing.assert_allclose(before.scores, after.scores, atol=1e-6)
    assert loaded.describe() == stage.describe()
    more = [*LABELS, Label("9", ("rain",), "water")]
    np.testing.assert_allclose(
        loaded.with_labels(more)(DOCUMENTS).scores, stage.with_labels(more)(DOCUMENTS).scores, atol=1e-3
    )
    elsewhere = SentenceTransformer(str(tmp_path / "documents"), device="cpu").encode("honey bee")
    np.testing.assert_allclose(elsewhere, stage.documents.encode_raw(["honey bee"])[0], atol=1e-2)


@pytest.mark.parametrize(
    ("label", "keywords", "expected"),
    [
        (Label("1", ("Bees", "Apoidea"), "Flying insects."), ("honey", "wing"), "Bees. honey wing. Flying insects"),
        (Label("1", ("Bees", "Apoidea"), "Flying insects."), (), "Bees. Flying insects"),
        (Label("2", ("Oak",)), ("acorn",), "Oak. acorn"),
        (Label("2", ("Oak",)), (), "Oak"),
    ],
)
def test_a_label_s_text_is_name_description_and_keywords(
    label: Label, keywords: tuple[str, ...], expected: str
) -> None:
    assert pseudo_description(label, keywords) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"), [(1, "honey"), (2, "honey b"), (3, "honey bx"), (4, "honey bx!"), (9, "honey bx!")]
)
def test_a_text_is_cut_after_its_last_token(tokens: int, expected: str) -> None:
    tokenizer = _tokenizer()
    assert cut_to_tokens("honey bx!", tokenizer, tokens) == expected  # honey, b, ##x, !
    assert len(tokenizer.encode(expected, add_special_tokens=False)) == min(tokens, 4)


def test_padding_is_no_token_of_the_text() -> None:
    tokenizer = _tokenizer()
    tokenizer.enable_padding(length=20)  # so does the tokenizer of MiniLM, before its first use
    assert cut_to_tokens("honey bx!", tokenizer, 8) == "honey bx!"
    assert cut_to_tokens("honey bx!", tokenizer, 2) == "honey b"
