"""AdamW by hand, and beside torch's own class."""

from __future__ import annotations

import pytest
import torch

from tagwright.training.optimiser import AdamW


def test_a_first_step_is_as_long_as_the_rate_after_the_decay() -> None:
    weight = torch.nn.Parameter(torch.tensor([[2.0, 2.0, 2.0]]))
    weight.grad = torch.tensor([[4.0, -0.5, 0.0]])
    optimiser = AdamW({"matrix": (weight, 1.0)}, decay=0.5, clip=1e9)
    assert float(optimiser.step(rate=0.1)) == pytest.approx(16.25**0.5)
    # of the decay 2 * (1 - 0.1 * 0.5) is left; the means, without their bias, are g and g^2, so a step is lr * sign(g)
    assert weight[0].tolist() == pytest.approx([1.8, 2.0, 1.9])
    assert not hasattr(weight.grad, "shape")
    assert optimiser.state["matrix"]["step"] == 1


@pytest.mark.parametrize(("clip", "kept"), [(0.0, [0.3, 0.4]), (1.0, [0.06, 0.08])])
def test_gradients_are_cut_to_the_clip_or_with_none_left_as_they_are(clip: float, kept: list[float]) -> None:
    """A gradient of length 5; the first mean is a tenth of what is left of it."""
    weight = torch.nn.Parameter(torch.zeros(1, 2))
    weight.grad = torch.tensor([[3.0, 4.0]])
    optimiser = AdamW({"matrix": (weight, 1.0)}, decay=0.0, clip=clip)
    assert float(optimiser.step(rate=0.1)) == pytest.approx(5.0)
    assert optimiser.state["matrix"]["exp_avg"][0].tolist() == pytest.approx(kept)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_are_those_of_torchs_class(dtype: torch.dtype) -> None:
    start = torch.randn(3, 5, 10, generator=torch.Generator().manual_seed(0)).to(dtype)
    ours, theirs = ([torch.nn.Parameter(row.clone()) for row in start] for _ in range(2))
    ours[2], theirs[2] = (torch.nn.Parameter(weight.data.flatten()) for weight in (ours[2], theirs[2]))  # a bias
    rates = [1.0, 1.0, 100.0]
    one = AdamW({str(i): each for i, each in enumerate(zip(ours, rates, strict=True))}, 0.1, clip=1e9)
    other = torch.optim.AdamW(
        [{"params": theirs[:2], "weight_decay": 0.1}, {"params": theirs[2:], "lr": 1.0}],
        1e-2,
        fused=True,
        weight_decay=0.0,
    )
    for step in range(5):
        for weights in (ours, theirs):
            torch.autograd.backward([(weight**2 * (step + 1)).sum() for weight in weights[step % 2 :]])
        one.step(rate=1e-2)
        other.step()
        other.zero_grad()
    for mine, its, before in zip(ours, theirs, start, strict=True):
        assert torch.equal(mine, its)
        assert not torch.equal(mine, before.reshape(mine.shape))
