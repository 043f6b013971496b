import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.golden import golden
from torch import Tensor

from tagwright.papers.losses import (
    cluster_loss,
    dual_encoder_bce,
    dual_encoder_classifier_bce,
    info_nce,
    label_regularisation,
    score_contrast,
)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def info_nce_in_loops(anchors: Tensor, positives: Tensor, temperature: float, groups: list[int]) -> float:
    """RTS Eq. 1 term by term."""
    total = 0.0
    for i, anchor in enumerate(anchors):
        exps = [
            math.exp(float(anchor @ positive / anchor.norm() / positive.norm()) / temperature) for positive in positives
        ]
        negatives = (exps[j] for j in range(len(exps)) if groups[j] != groups[i])
        total -= math.log(exps[i] / (exps[i] + sum(negatives)))
    return total / len(anchors)


@given(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.sampled_from([0.05, 1.0]))
def test_info_nce_is_the_equation_without_the_negatives_of_the_own_group(groups: list[int], temperature: float) -> None:
    anchors, positives = drawn(3, 4), drawn(6, 4, seed=1)
    loss = info_nce(anchors, positives, temperature, groups=torch.tensor(groups))
    assert loss.item() == pytest.approx(info_nce_in_loops(anchors, positives, temperature, groups), abs=1e-9)


def test_pairs_that_share_one_of_two_groups_are_not_each_other_s_negatives() -> None:
    """Pair 1 ends in the document that pair 0 begins with; pair 2 is about others."""
    anchors, positives = drawn(3, 4), drawn(3, 4, seed=1)
    cosines = torch.nn.functional.normalize(anchors, dim=1) @ torch.nn.functional.normalize(positives, dim=1).T
    left = [(0, [2]), (1, [2]), (2, [0, 1])]
    expected = sum(torch.cat([cosines[i, [i]], cosines[i, others]]).logsumexp(0) - cosines[i, i] for i, others in left)
    loss = info_nce(anchors, positives, 1.0, groups=torch.tensor([[5, 6], [7, 5], [8, 9]]))
    assert loss.item() == pytest.approx(float(expected) / 3, abs=1e-9)


def test_clusters_of_one_instance_each_give_maclr_eq_1() -> None:
    x, y = drawn(5, 4), drawn(5, 4, seed=1)
    torch.testing.assert_close(
        cluster_loss(x, y, groups=torch.arange(5)), info_nce(x, y, temperature=1.0, similarity="dot")
    )


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_batch_of_one_group_has_no_loss_and_no_gradient_whatever_its_norms(size: float) -> None:
    x, y = (size * drawn(4, 3)).requires_grad_(), size * drawn(4, 3, seed=1)
    loss = info_nce(x, y, similarity="dot", groups=torch.zeros(4, dtype=torch.int64))
    assert loss.item() == 0
    assert torch.autograd.grad(loss, x)[0].abs().max() == 0


def test_similarities_of_a_million_stay_finite() -> None:
    x = (1000 * torch.eye(3)).requires_grad_()
    groups = torch.tensor([0, 0, 1])
    losses = [
        info_nce(x, -x, similarity="dot", groups=groups),
        cluster_loss(x, -x, groups=groups),
        label_regularisation(x, -x, x),
        dual_encoder_bce(x, -x, torch.eye(3)),
        dual_encoder_classifier_bce(x, -x, -x, torch.eye(3)),
    ]
    for loss in losses:
        assert loss.isfinite()
        assert torch.autograd.grad(loss, x, retain_graph=True)[0].isfinite().all()


def test_a_probability_that_rounds_to_zero_still_has_its_loss_and_gradient() -> None:
    document = torch.tensor([[1.0]], requires_grad=True)
    wrong = torch.tensor([[-500.0]])
    loss = dual_encoder_classifier_bce(document, wrong, wrong, torch.tensor([[1]]))
    assert loss.item() == 500
    assert torch.autograd.grad(loss, document)[0].item() == pytest.approx(500, rel=1e-5)


def test_bfloat16_embeddings_lose_nothing_beyond_their_own_rounding() -> None:
    x, y = drawn(8, 4).bfloat16(), drawn(8, 4, seed=1).bfloat16()
    loss = info_nce(x, y)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, info_nce(x.float(), y.float()))


def test_gradients_are_those_of_the_values() -> None:
    x, y, groups = drawn(4, 3).requires_grad_(), drawn(4, 3, seed=1).requires_grad_(), torch.tensor([0, 1, 0, 2])
    relevant = torch.eye(4)
    functions: list[Callable[..., Tensor]] = [
        partial(info_nce, temperature=0.5, groups=groups),
        partial(cluster_loss, groups=groups),
        lambda x, y: label_regularisation(x, y, x),
        lambda x, y: score_contrast(x.sum(1), x @ y.mT),
        partial(dual_encoder_bce, relevant=relevant),
        lambda x, y: dual_encoder_classifier_bce(x, y, x, relevant),
    ]
    assert all(torch.autograd.gradcheck(function, (x, y)) for function in functions)


GOLDEN: dict[str, Callable[[Callable[[str], Tensor]], Tensor]] = {
    "rts_eq1_tau0.05": lambda of: info_nce(of("a"), of("b"), temperature=0.05),
    "micol_bi_eq9_tau0.05": lambda of: info_nce(of("a"), of("b"), temperature=0.05),
    "micol_cross_eq11_one_negative": lambda of: score_contrast(of("score_pos"), of("score_neg")[:, None]),
    "maclr_eq2_instances_b_labels_a_mean": lambda of: cluster_loss(of("b"), of("a"), groups=of("cluster")),
    "maclr_eq3_mean": lambda of: label_regularisation(of("b"), of("b_second_dropout_view"), of("real_labels")),
    "dual_bce_mean": lambda of: dual_encoder_bce(of("doc"), of("label"), of("y")),
    "dual_cls_bce_mean": lambda of: dual_encoder_classifier_bce(of("doc"), of("label"), of("classifier"), of("y")),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_losses_agree_with_reference_implementations(name: str) -> None:
    values = golden("losses.json")
    values |= values["depl"]
    loss = GOLDEN[name](lambda key: torch.tensor(values[key]))
    assert loss.item() == pytest.approx(values[name], abs=1e-4)
