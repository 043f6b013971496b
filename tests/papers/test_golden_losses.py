"""Agreement with the values that reference implementations of the papers' losses give."""

from typing import Any

import pytest
import torch
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


@pytest.fixture(scope="module", name="golden")
def golden_values() -> dict[str, Any]:
    return golden("losses.json")


def agrees(loss: Tensor, expected: float) -> bool:
    return loss.item() == pytest.approx(expected, abs=1e-4)


def test_rts_eq_1_and_micol_eq_9(golden: dict[str, Any]) -> None:
    loss = info_nce(torch.tensor(golden["a"]), torch.tensor(golden["b"]), temperature=0.05)

    assert agrees(loss, golden["rts_eq1_tau0.05"])
    assert agrees(loss, golden["micol_bi_eq9_tau0.05"])


def test_micol_eq_11(golden: dict[str, Any]) -> None:
    negatives = torch.tensor(golden["score_neg"])[:, None]

    assert agrees(score_contrast(torch.tensor(golden["score_pos"]), negatives), golden["micol_cross_eq11_one_negative"])


def test_maclr_eq_2(golden: dict[str, Any]) -> None:
    instances, labels = torch.tensor(golden["b"]), torch.tensor(golden["a"])

    loss = cluster_loss(instances, labels, groups=torch.tensor(golden["cluster"]))

    assert agrees(loss, golden["maclr_eq2_instances_b_labels_a_mean"])


def test_maclr_eq_3(golden: dict[str, Any]) -> None:
    views = torch.tensor(golden["b"]), torch.tensor(golden["b_second_dropout_view"])

    assert agrees(label_regularisation(*views, torch.tensor(golden["real_labels"])), golden["maclr_eq3_mean"])


def test_depl_dual_encoder(golden: dict[str, Any]) -> None:
    documents, labels, relevant = (torch.tensor(golden["depl"][name]) for name in ("doc", "label", "y"))

    assert agrees(dual_encoder_bce(documents, labels, relevant), golden["depl"]["dual_bce_mean"])


def test_depl_with_classifier(golden: dict[str, Any]) -> None:
    matrices = (torch.tensor(golden["depl"][name]) for name in ("doc", "label", "classifier", "y"))

    assert agrees(dual_encoder_classifier_bce(*matrices), golden["depl"]["dual_cls_bce_mean"])
