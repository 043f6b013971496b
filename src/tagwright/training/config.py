"""How to train: the options that all trained methods share, and the plan that the training loop follows."""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, Literal, TypeAlias

from tagwright.core import checked

Dropout: TypeAlias = Literal["off", "same", "all"]
"The texts that are encoded with the transformer's dropout; same: those of pairs of a text with itself."

BatchSize: TypeAlias = Annotated[int, checked.Range(least=2)]
"A pair's negatives are the other pairs of its batch, so it has at least two."

FREE_TO_CHANGE = frozenset({"checkpoint_seconds"})
"Options that a resumed run may change, since they do not affect the weights."

OF_ENCODER = ("batch", "epochs", "steps", "learning_rate", "weight_decay", "dropout")
"Options for which a method has other values for a static encoder than for a transformer."


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(checked.Checked):
    """How to train. None: the method's value for this kind of encoder, see its STATIC and TRANSFORMER."""

    batch: BatchSize | None = None
    """Pairs in a batch, on all processes together; each pair's negatives are the others (RTS 3.2.3). If it is unset and
    there are few pairs, the method's own is halved."""
    epochs: checked.Positive | None = None
    "Number of passes over all pairs."
    steps: checked.AtLeastZero | None = None
    "Number of batches, instead of epochs; 0 leaves the encoder as it is, to compare with."
    learning_rate: checked.Positive | None = None
    "AdamW's highest rate, reached after warm-up."
    warmup: checked.PartialShare | None = None
    "Share of the steps in which the learning rate rises linearly; None: 0.1."
    warmup_steps: checked.AtLeastZero | None = None
    "Steps of warm-up, instead of a share."
    decay: checked.Probability | None = None
    "Share of the learning rate that is lost linearly after warm-up: 1 is all, 0 is a constant rate. None: 1."
    weight_decay: checked.NotNegative | None = None
    "AdamW's weight decay, except for biases and the weights of norms. 0 is Adam."
    clip: checked.NotNegative | None = None
    "Largest norm of the gradient over all weights; larger ones are clipped. 0 is no limit. None: usually 1."
    dropout: Dropout | None = None
    """The texts with dropout in the transformer: "all", as in RTS and MACLR; "same", those of pairs of equal texts,
    which nothing else distinguishes; or "off". None: usually "same", since "all" costs a third of the time."""
    activation_token_budget: checked.AtLeastZero | None = None
    "Tokens of the largest batch that keeps activations, 0.1 MB each in MiniLM; larger batches are encoded twice."
    validation: checked.PartialShare | None = None
    "Share of the groups of pairs for the validation loss, by which the best weights are chosen."
    checkpoint_seconds: checked.NotNegative = 300.0
    "Seconds between checkpoints; 0 saves after every step."
    seed: checked.AtLeastZero = 0
    "The same seed, machine and number of threads give the same weights."

    def over(self, plan: "TrainingPlan") -> "TrainingPlan":
        """The plan of a method, changed by the values set here."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(plan, **{name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class TrainingPlan(TrainingConfig):
    """A complete training config: the values of a method for a kind of encoder, which the loop follows."""

    batch: BatchSize = 384
    epochs: checked.Positive = 1.0
    learning_rate: checked.Positive = 2e-5
    warmup: checked.PartialShare = 0.1
    decay: checked.Probability = 1.0
    weight_decay: checked.NotNegative = 0.01
    clip: checked.NotNegative = 1.0
    dropout: Dropout = "same"
    validation: checked.PartialShare = 0.02
    evaluations: checked.AtLeastOne = 10
    "How often the validation loss is measured, not counting the start."
    log_every: checked.AtLeastOne = 10
    "Steps from one line of the log to the next."

    def rate(self, step: int, steps: int) -> float:
        """The learning rate in a step, from 0, of a training of so many: see `rate_at`."""
        rising = round(self.warmup * steps) if self.warmup_steps is None else self.warmup_steps
        return self.learning_rate * rate_at(step, steps, rising, self.decay)


def rate_at(step: int, steps: int, rising: int, decay: float = 1.0) -> float:
    """The share of the highest learning rate in a step, from 0: up along a line in `rising` steps, then down.

    decay: the share that is lost by the end. Two steps up, six down, to nothing or to a half:

    >>> [round(rate_at(step, steps=8, rising=2), 2) for step in range(8)]
    [0.5, 1.0, 1.0, 0.83, 0.67, 0.5, 0.33, 0.17]
    >>> [round(rate_at(step, steps=8, rising=2, decay=0.5), 2) for step in range(8)]
    [0.5, 1.0, 1.0, 0.92, 0.83, 0.75, 0.67, 0.58]
    """
    left = (steps - step) / max(1, steps - rising)
    return min((step + 1) / max(1, rising), (1 - decay) + decay * left)


def lasting_options(config: Any) -> dict[str, Any]:
    """The options of a dataclass that a resumed run must keep, plain JSON: all but those of `FREE_TO_CHANGE`."""
    options: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    for table in (options, options.get("training") or {}):
        for name in FREE_TO_CHANGE:
            table.pop(name, None)
    return options
