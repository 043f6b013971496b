"""How to train: the one configuration that all trained methods share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from tagwright.errors import ConfigError
from tagwright.training.gradient_caching import Dropout


@dataclass(frozen=True, kw_only=True)
class Training:
    """How to train. Raises ConfigError when a value cannot work."""

    batch: int = 384
    "Pairs in a batch, on all processes together; each pair's negatives are the others (RTS 4.1.3)."
    epochs: float = 1.0
    "How often all pairs are seen."
    steps: int | None = None
    "How many batches are seen, instead of epochs."
    learning_rate: float = 2e-5
    "The highest, reached after warm-up; from there it falls to nothing along a line."
    warmup: float = 0.1
    "Share of the steps in which the learning rate rises."
    weight_decay: float = 0.01
    "AdamW's; biases and the weights of norms are spared."
    clip: float = 1.0
    "Longest gradient (norm over all weights); longer ones are shortened to it."
    dropout: Dropout = "same"
    "Which texts the transformer's dropout is for. It tells equal texts apart; elsewhere it costs a third of the time."
    window: int = 1
    "Batches drawn together and sorted by length. Within a batch, texts are always encoded by length."
    activation_token_budget: int | None = None
    "Tokens of a batch up to which activations are kept, 0.1 MB each in MiniLM; larger batches are encoded twice."
    validation: float = 0.02
    "Share of the groups of pairs that is not trained on but measures the loss and chooses the best weights."
    evaluations: int = 10
    "How often the held-out loss is measured, not counting the start."
    log_every: int = 10
    "Steps from one line of the log to the next."
    checkpoint_seconds: float = 300.0
    "At most so much work is lost when a run is killed; 0 saves after every step."
    tensorboard: bool = False
    "Whether the log is also written for TensorBoard."
    seed: int = 0
    "Same seed, machine and number of threads: same weights."

    def __post_init__(self) -> None:
        expected = {
            "a positive number": ("batch", "epochs", "learning_rate", "clip", "window", "evaluations", "log_every"),
            "at least 0": (
                "weight_decay",
                "activation_token_budget",
                "checkpoint_seconds",
                "warmup",
                "validation",
                "seed",
            ),
        }
        for what, names in expected.items():
            for name in names:
                value = getattr(self, name)
                if value is None:
                    continue
                if value < 0 or (value == 0 and what != "at least 0"):
                    raise ConfigError(f"{name} is {value}, expected {what}")
        for name in ("warmup", "validation"):
            if getattr(self, name) >= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, expected a share below 1")
        if self.batch < 2:
            raise ConfigError("batch is 1, expected at least 2: a pair's negatives are the other pairs of its batch")
        if self.steps is not None and self.steps < 1:
            raise ConfigError(f"steps is {self.steps}, expected a positive number, or none to count epochs")
        if self.dropout not in get_args(Dropout):
            raise ConfigError(f'dropout is "{self.dropout}", expected off, same or all')
