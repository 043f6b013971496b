from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder as Theirs
from tests.tiny import tiny_encoder

from tagwright.encoders import kernels
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.errors import ModelError

PREMISES, STATEMENT = ["bees and honey", "the stock market"], "this document is about money."


def inference_model(folder: Path, classes: list[str]) -> str:
    torch.manual_seed(1)
    model = Theirs(str(tiny_encoder(folder / "tiny")), num_labels=len(classes), device="cpu", local_files_only=True)
    model.transformers_model.config.id2label = dict(enumerate(classes))
    model.transformers_model.config.label2id = {name: number for number, name in enumerate(classes)}
    model.save(str(folder / "inference"), create_model_card=False)
    return str(folder / "inference")


def score(encoder: CrossEncoder) -> list[float]:
    scores: list[float] = encoder.score(PREMISES, [STATEMENT], np.array([0, 1]), np.array([0, 0])).tolist()
    return scores


@pytest.mark.parametrize(
    ("classes", "entailed", "other"),
    [(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], 2, 0), (["entailment", "not_entailment"], 0, 1)],
)
def test_the_score_is_the_difference_of_two_logits(
    classes: list[str], entailed: int, other: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "best_dtype", lambda _: torch.float32)
    name = inference_model(tmp_path, classes)
    pairs = [(premise, STATEMENT) for premise in PREMISES]
    logits = Theirs(name, device="cpu", local_files_only=True).predict(pairs, activation_fn=torch.nn.Identity())
    encoder = CrossEncoder.load(name)
    assert score(encoder) == pytest.approx((logits[:, entailed] - logits[:, other]).tolist(), abs=1e-5)
    encoder.save(tmp_path / "saved")
    assert score(CrossEncoder.load(str(tmp_path / "saved"))) == pytest.approx(score(encoder), abs=1e-6)


def test_other_classes_are_no_score(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="gives 3 scores for a pair"):
        score(CrossEncoder.load(inference_model(tmp_path, ["good", "bad", "neutral"])))
