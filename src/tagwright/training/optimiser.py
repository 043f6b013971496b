"""AdamW by torch's own fused kernel, without torch's class for it, whose import of a compiler takes two seconds."""

import math
from collections import defaultdict
from collections.abc import Mapping

import torch
from torch.optim.adamw import adamw

from tagwright.training.objectives import OwnWeight


class AdamW:
    """AdamW (Loshchilov and Hutter, 2019) with the means and the epsilon of torch's defaults.

    weights: by name, each with its learning rate relative to that of a step. decay: the weight decay; biases and
    weights of norms, which are vectors, have none. clip: the largest norm of the gradient over all weights; 0 for none.

    state: of each weight that had a gradient its step, and the means of its gradients (exp_avg) and of their squares
    (exp_avg_sq).
    """

    def __init__(self, weights: Mapping[str, OwnWeight], decay: float, clip: float) -> None:
        self.weights, self.clip = {name: weight for name, (weight, _) in weights.items()}, clip
        self.state: dict[str, dict[str, torch.Tensor]] = {}
        self._groups = defaultdict[tuple[float, float], list[str]](list)
        for name, (weight, rate) in weights.items():
            self._groups[0.0 if weight.ndim < 2 else decay, rate].append(name)

    def step(self, rate: float | torch.Tensor) -> torch.Tensor:
        """Clip the gradients, move the weights that have one, and forget them; returns the norm before clipping.

        rate: the learning rate of weights whose own is 1; in a CUDA graph a tensor, so that each step has its own.
        """
        norm = torch.nn.utils.clip_grad_norm_(self.weights.values(), self.clip or math.inf)
        for (decay, own_rate), names in self._groups.items():
            moved = [name for name in names if self.weights[name].grad is not None]
            weights, states = [self.weights[name] for name in moved], [self._state_of(name) for name in moved]
            with torch.no_grad():
                adamw(
                    weights,  # type: ignore[arg-type]  # a list of parameters is one of tensors
                    [weight.grad for weight in weights],  # type: ignore[misc]  # those that have one
                    [state["exp_avg"] for state in states],
                    [state["exp_avg_sq"] for state in states],
                    [],
                    [state["step"] for state in states],
                    fused=True,
                    amsgrad=False,
                    beta1=0.9,
                    beta2=0.999,
                    lr=rate * own_rate,
                    weight_decay=decay,
                    eps=1e-8,
                    maximize=False,
                )
        self.forget_gradients()
        return norm

    def forget_gradients(self) -> None:
        """Forget the gradients, and begin the means of the weights that have one."""
        for name, weight in self.weights.items():
            if weight.grad is not None:
                self._state_of(name)
                weight.grad = None

    def _state_of(self, name: str) -> dict[str, torch.Tensor]:
        if name not in self.state:
            weight = self.weights[name]
            step = torch.zeros((), dtype=torch.float32, device=weight.device)
            self.state[name] = {"step": step} | {mean: torch.zeros_like(weight) for mean in ("exp_avg", "exp_avg_sq")}
        return self.state[name]
