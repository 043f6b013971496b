"""AdamW by torch's own fused kernel, without torch's class for it, whose import of a compiler takes two seconds."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch.optim.adamw import adamw

BETAS, EPSILON = (0.9, 0.999), 1e-8
"The decay of both means, and what is added to the denominator: torch's defaults."


class AdamW:
    """AdamW (Loshchilov and Hutter, 2019). groups: each with params, weight_decay and lr, which may change.

    state: of each weight its step, and the means of its gradients (exp_avg) and of their squares (exp_avg_sq).
    """

    def __init__(self, groups: Sequence[dict[str, Any]]) -> None:
        self.param_groups = groups
        self.state: defaultdict[torch.Tensor, dict[str, torch.Tensor]] = defaultdict(dict)

    def step(self) -> None:
        """Move the weights that have a gradient, and forget the gradients."""
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            states = [self._of(weight) for weight in weights]
            with torch.no_grad():
                adamw(
                    weights,
                    [weight.grad for weight in weights],
                    [state["exp_avg"] for state in states],
                    [state["exp_avg_sq"] for state in states],
                    [],
                    [state["step"] for state in states],
                    fused=True,
                    amsgrad=False,
                    beta1=BETAS[0],
                    beta2=BETAS[1],
                    lr=group["lr"],
                    weight_decay=group["weight_decay"],
                    eps=EPSILON,
                    maximize=False,
                )
            for weight in weights:
                weight.grad = None

    def _of(self, weight: torch.Tensor) -> dict[str, torch.Tensor]:
        state = self.state[weight]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=weight.device)
            state |= {name: torch.zeros_like(weight) for name in ("exp_avg", "exp_avg_sq")}
        return state
