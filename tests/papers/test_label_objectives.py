from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from tests.tiny import DIM, tiny_encoder

from tagwright.encoders.static import distil
from tagwright.papers.descriptions import encoder, side
from tagwright.papers.label_objectives import (
    DualEncoder,
    Heads,
    LabelSampler,
    labelled_documents,
)
from tagwright.papers.losses import dual_encoder_bce, dual_encoder_classifier_bce
from tagwright.training.config import TrainingPlan
from tagwright.training.loop import train
from tagwright.types import Document, Pair, Run

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["bee", "honey", "market", "money", "river", "rain"]
DOCUMENTS = [Document(f"d{i}", title=f"{WORDS[i % 6]} {WORDS[(i + 1) % 6]}") for i in range(48)]
GOLD = Run.from_rows([[i % 6] for i in range(48)])
HARD = Run.from_rows([[(i + 1) % 6] for i in range(48)])
TRAINING = TrainingPlan(
    batch=8, steps=12, learning_rate=0.02, dropout="off", validation=0.1, checkpoint_seconds=0, seed=1
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("encoder")
    transformer = str(tiny_encoder(folder / "tiny"))
    distil(folder / "static", transformer)
    return {"transformer": transformer, "static": str(folder / "static")}


def model_of(folder: str) -> SentenceTransformer:
    return encoder(SentenceTransformer(folder, device="cpu"))


def objective(*, texts: bool = True, classifiers: bool = True, size: int = 4, **options: Any) -> DualEncoder:
    heads = Heads.start(DIM, 6, 0.25, texts=texts, classifiers=classifiers, seed=0)
    sampler = LabelSampler(GOLD, HARD, 6, size, seed=0)
    options.setdefault("seen", np.ones(6, np.bool_))
    return DualEncoder(heads, sampler, WORDS, (0.5, 2.0), **options)


def test_a_batch_has_all_its_right_labels_then_hard_negatives_then_others() -> None:
    gold, hard = Run.from_rows([[5, 900], [7]]), Run.from_rows([[800], [5, 801]])
    sampler = LabelSampler(gold, hard, labels=1000, size=6)
    chosen = sampler(np.array([0, 1]))
    assert {5, 7, 900, 800, 801} < set(chosen.tolist())
    assert len(chosen) == 6
    assert set(LabelSampler(gold, hard, 1000, 4)(np.array([0, 1])).tolist()) & {800, 801}
    assert LabelSampler(gold, hard, 1000, 2)(np.array([0, 1])).tolist() == [5, 7, 900]
    assert sampler.relevant(np.array([1, 0]), np.array([5, 7, 800])).tolist() == [[0, 1, 0], [1, 0, 0]]


@given(st.lists(st.sets(st.integers(0, 49), max_size=5), min_size=1, max_size=8), st.integers(1, 60), st.integers(0, 9))
def test_any_batch_has_its_right_labels_once_and_as_many_as_are_asked_for(
    rows: list[set[int]], size: int, seed: int
) -> None:
    gold = Run.from_rows(rows)
    sampler, documents = LabelSampler(gold, gold.top(0), 50, size, seed), np.arange(len(rows))
    chosen = sampler(documents)
    assert (np.diff(chosen) > 0).all()
    assert set(gold.labels.tolist()) <= set(chosen.tolist()) <= set(range(50))
    assert len(chosen) == max(min(size, 50), len(set(gold.labels.tolist())))
    assert (sampler(documents) == chosen).all()
    assert sampler.relevant(documents, chosen).sum() == len(gold.labels)


@pytest.mark.parametrize("size", [4, 6])
def test_the_loss_is_that_of_the_paper_over_the_labels_of_the_batch(size: int) -> None:
    both = objective(size=size, apart=False)
    batch = [Pair(DOCUMENTS[i].title, "", i) for i in (0, 7, 20)]
    documents, texts = both.views(batch, step=0)
    rows = np.array([0, 7, 20])
    labels = both.sampler(rows)
    assert list(texts) == [WORDS[label] for label in labels]
    rng = torch.Generator().manual_seed(0)
    vectors = [torch.nn.functional.normalize(torch.randn(len(part), DIM, generator=rng)) for part in (documents, texts)]
    phi, psi = both.heads.document(vectors[0]), both.heads.label(vectors[1])  # type: ignore[misc]
    relevant = torch.from_numpy(both.sampler.relevant(rows, labels))
    assert both.heads.classifiers is not None
    expected = dual_encoder_classifier_bce(phi, psi, both.heads.classifiers[labels], relevant) * len(labels)
    assert both.loss(vectors, torch.from_numpy(rows)).item() == pytest.approx(expected.item())
    apart = [dual_encoder_bce(phi, target, relevant) for target in (psi, both.heads.classifiers[labels])]
    each = replace(both, apart=True).loss(vectors, torch.from_numpy(rows)).item()
    assert each == pytest.approx(sum(apart).item() / 2 * len(labels))  # type: ignore[union-attr]
    without = objective(classifiers=False, size=size)
    expected = dual_encoder_bce(phi, psi, relevant) * len(labels)
    assert without.loss(vectors, torch.from_numpy(rows)).item() == pytest.approx(expected.item())


def test_as_printed_the_loss_is_a_mean_and_the_label_pooler_has_no_bias() -> None:
    """Inner products are 0 without weights, so each of the six labels has log 2; with unit they are added up."""
    vectors = [torch.zeros(2, DIM), torch.zeros(6, DIM)]
    classifier = torch.nn.Linear(DIM, DIM)
    for unit, loss, bias in ((False, np.log(2), 0.0), (True, 6 * np.log(2), 3.0)):
        for variant in ({"classifiers": False}, {"apart": False}, {"apart": True}):
            made = objective(size=6, **variant)
            heads = Heads.start(DIM, 6, 0.5, texts=True, classifiers="apart" in variant, seed=0, unit=unit)
            if heads.classifiers is not None:
                torch.nn.init.zeros_(heads.classifiers)
            assert replace(made, heads=heads).loss(vectors, torch.tensor([0, 1])).item() == pytest.approx(loss)
        heads.init_from(classifier, np.full((6, DIM), 3.0, np.float32))
        assert heads.label is not None
        assert heads.label.bias.tolist() == pytest.approx([bias] * DIM)


def test_a_label_without_training_documents_has_the_probability_of_its_text() -> None:
    unseen = objective(size=6, seen=np.array([True] * 5 + [False]))
    _, texts, free = unseen._vectors(torch.eye(DIM)[:2], torch.eye(DIM)[:6], np.arange(6, dtype=np.int32))
    assert unseen.heads.classifiers is not None
    assert torch.equal(free[5], texts[5])
    assert torch.equal(free[:5], unseen.heads.classifiers[:5])


def test_a_batch_in_which_nothing_is_right_has_a_loss() -> None:
    nothing = objective(classifiers=False)
    nothing = replace(nothing, sampler=LabelSampler(GOLD.top(0), GOLD.top(0), 6, 6))
    vectors = [torch.zeros(2, DIM), torch.zeros(6, DIM)]
    loss = nothing.loss(vectors, torch.tensor([0, 1]))
    # The biases give every label the probability 1/4 that the heads were made for.
    assert loss.item() == pytest.approx(-6 * np.log(0.75), rel=1e-5)


def test_the_transformer_reads_documents_by_cls_and_labels_by_the_mean(folders: dict[str, str]) -> None:
    model = model_of(folders["transformer"])
    heads = Heads.start(DIM, 6, 0.25, texts=True, classifiers=False, seed=0)
    assert heads.label is not None
    shared = torch.from_numpy(model.encode(["a bee in the rain"]))
    for mode, half in (("cls", shared[:, :DIM]), ("mean", shared[:, DIM:])):
        ours = side(model, heads.document, mode).encode(["a bee in the rain"])  # type: ignore[arg-type]
        theirs = heads.document(torch.nn.functional.normalize(half)).detach().numpy()
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    by_mean, by_cls = (objective(classifiers=False, label_pooling=pooling) for pooling in ("mean", "cls"))
    means, firsts = (
        by_mean._vectors(shared, shared, np.array([0]))[1],
        by_cls._vectors(shared, shared, np.array([0]))[1],
    )
    assert not torch.allclose(means, firsts)


def test_vectors_may_keep_their_length_before_poolers_that_are_drawn(folders: dict[str, str]) -> None:
    """DEPL 3.3 as it is printed: W BERT(x) + b, without a scale; BERT's layers start at a deviation of 0.02."""
    model = model_of(folders["transformer"])
    heads = Heads.start(256, 6, 0.25, texts=True, classifiers=True, seed=0, unit=False)
    assert heads.label is not None
    assert heads.classifiers is not None
    for drawn in (heads.document.weight, heads.label.weight, heads.classifiers):
        assert drawn.std().item() == pytest.approx(0.02, rel=0.1)
        assert abs(drawn.mean().item()) < 0.002
    assert not torch.equal(heads.document.weight, heads.label.weight)
    assert not heads.document.bias.any()
    heads = Heads.start(DIM, 6, 0.25, texts=True, classifiers=False, seed=0, unit=False)
    shared = torch.from_numpy(model.encode(["a bee in the rain"]))
    ours = side(model, heads.document, "cls", unit=False).encode(["a bee in the rain"])
    theirs = heads.document(shared[:, :DIM])
    np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=1e-5)
    made = replace(objective(classifiers=False), heads=heads)
    assert torch.allclose(made._vectors(shared, shared, np.array([0]))[0], theirs)


def test_the_heads_have_learning_rates_of_their_own(folders: dict[str, str]) -> None:
    made = objective()
    before = {name: weight.detach().clone() for name, (weight, _) in made.weights().items()}
    # Adam's first step is the learning rate itself, wherever there is a gradient.
    training = replace(TRAINING, steps=1, learning_rate=1e-3, weight_decay=0.0, validation=0.0, clip=1e3)
    train(model_of(folders["static"]), labelled_documents(DOCUMENTS, GOLD), made, training)
    moved = {name: (weight - before[name]).abs().max().item() for name, (weight, _) in made.weights().items()}
    assert moved["document.bias"] == pytest.approx(0.5e-3, rel=0.01)
    assert moved["classifiers"] == pytest.approx(2e-3, rel=0.01)
