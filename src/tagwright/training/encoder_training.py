"""The part of a method's configuration that all trained methods share, and what it leads to: a trained encoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tagwright.encoders.architecture import read_architecture
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.kernels import best_device
from tagwright.encoders.library import is_module, module_class
from tagwright.encoders.model_folder import PACKAGED, find, pinned
from tagwright.encoders.prompts import Role, check_prompts
from tagwright.errors import ConfigError
from tagwright.training.batching import Batches, SamplerState
from tagwright.training.objectives import Contrastive, Objective
from tagwright.training.training_config import Training
from tagwright.types import PairSource

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

BATCHES = 8
"So many batches an epoch should have at least: with fewer, the few steps are all warm-up."

STATIC = "static"
"The name of the static encoder distilled from the packaged one."


def stage_folder(output: Path | None, name: str) -> Path | None:
    """A folder in output for one stage of a training, made if need be; None where nothing is kept."""
    if output:
        (output / name).mkdir(parents=True, exist_ok=True)
    return output and output / name


def check_least(config: object, **least: int) -> None:
    """Raise ConfigError for an option that is set and below its least value."""
    for name, bound in least.items():
        value = getattr(config, name)
        if value is not None and value < bound:
            raise ConfigError(f"{name} is {value}, expected at least {bound}")


@dataclass(frozen=True, kw_only=True)
class Trained:
    """How to train; None: what the method does with this kind of encoder. Raises ConfigError as `Training` does."""

    batch: int | None = None
    "Pairs in a batch, each pair's negatives being the others. Where there are few pairs, the method's own is halved."
    epochs: float | None = None
    "How often all pairs are seen."
    steps: int | None = None
    "How many batches are seen, instead of epochs."
    learning_rate: float | None = None
    "The highest; it is reached after warm-up, and then falls to nothing along a line."
    validation: float = 0.02
    "Share of what the pairs are about that is not trained on but measures the loss and chooses the best weights."
    checkpoint_seconds: float = 300.0
    "At most so much work is lost when a run is killed; 0 saves after every step."
    tensorboard: bool = False
    "Whether the log is also written for TensorBoard."
    seed: int = 0
    "Same seed, machine and number of threads: same weights."

    def __post_init__(self) -> None:
        self.over(Training())

    def over(self, chosen: Training) -> Training:
        """What the method has chosen, but for what the user has."""
        values = {field.name: getattr(self, field.name, None) for field in fields(Training)}
        return replace(chosen, **{name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class Learner(Trained):
    """Which encoder is trained, and how. Raises ConfigError when a value cannot work."""

    encoder: str = "auto"
    """"static", distilled from minilm: token vectors, averaged; "minilm", a folder, or a Hugging Face id, with
    @revision if need be, which is fetched where it is not on this machine; "auto" is static without a GPU and minilm
    with one."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """What a transformer reads before a text: "query" before texts to be tagged, "document" before labels, as
    {query="query: ", document="passage: "} for E5; what is not given is the model's own, and "" is none."""
    pooling: Literal["cls", "mean"] | None = None
    "How a transformer makes one vector of a text; None: as it was trained to."
    max_length: int | None = None
    "Tokens that a transformer reads of a text; None: as many as it can. A static encoder reads all."
    projection: int | None = None
    "Dimensions that a linear layer maps a transformer's vectors to (MACLR: 512). It has to be learnt from nothing."

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pooling not in (None, "cls", "mean"):
            raise ConfigError(f'pooling is "{self.pooling}", expected cls or mean')
        check_least(self, max_length=3, projection=3)
        check_prompts(self.prompts)
        of_transformers = self.pooling or self.max_length or self.projection or self.prompts
        if of_transformers and self.encoder_name == STATIC:  # "auto" loads torch
            why = "the encoder is static" + (", as auto is without a GPU" if self.encoder == "auto" else "")
            raise ConfigError(f"pooling, max_length, projection and prompts are of transformers; {why}")

    @property
    def encoder_name(self) -> str:
        """The encoder that "auto" stands for on this machine, or else the one that is named."""
        if self.encoder != "auto":
            return self.encoder
        return PACKAGED if best_device().type == "cuda" else STATIC

    @property
    def resolved(self) -> dict[str, Any]:
        """What the options that are "auto" or unset stand for on this machine: stored with what is trained.

        A model of the Hugging Face Hub is named with its revision.
        """
        return {"encoder": STATIC if self.encoder_name == STATIC else pinned(self.encoder_name)}

    @property
    def is_static(self) -> bool:
        """Whether the encoder averages token vectors. Raises ModelError when there is none of that name."""
        name = self.encoder_name
        return name == STATIC or "StaticEmbedding" in read_architecture(find(name)).modules

    def training(self, static: Training, transformer: Training, pairs: PairSource) -> Training:
        """How to train: what the method does with this kind of encoder, but for what the user has chosen.

        A batch that the user has not chosen is halved until an epoch has 8 of them. Raises ConfigError when the pairs
        of an epoch do not fill a batch; no more of them are drawn than are needed to see it.
        """
        training = self.over(static if self.is_static else transformer)
        while self.batch is None and training.batch > 2 and not has_batches(pairs, training, BATCHES):
            training = replace(training, batch=training.batch // 2)
        check_batch(pairs, training)
        return training


def learn(
    learner: Learner,
    pairs: PairSource,
    objective: Objective,
    training: Training,
    output: Path | None = None,
    *,
    resume: bool = False,
) -> BiEncoder:
    """The encoder that the learner names, trained. output, resume: see `trainer.train`."""
    return learn_on(load(learner), pairs, objective, training, output, resume=resume)


def learn_on(
    model: SentenceTransformer,
    pairs: PairSource,
    objective: Objective,
    training: Training,
    output: Path | None = None,
    *,
    resume: bool = False,
) -> BiEncoder:
    """The same of a model that is there already; it is trained in place."""
    from tagwright.training.loop import train

    train(model, pairs, objective, training, output, resume=resume)
    return BiEncoder.of(model)


def load(learner: Learner) -> SentenceTransformer:
    """The encoder before training. Raises ModelError when there is none of that name."""
    if learner.encoder_name == STATIC:
        from tagwright.encoders.static import distil

        return distil()
    model = untrained(learner).model
    if learner.projection:
        model.append(_projection(int(model.get_embedding_dimension() or 0), learner.projection, learner.seed))
    return model


def untrained(learner: Learner) -> BiEncoder:
    """A transformer as it comes, with the options of the learner. Raises ModelError when there is none of that name."""
    return BiEncoder.load(
        learner.encoder_name, max_length=learner.max_length, pooling=learner.pooling, prompts=learner.prompts
    )


def is_static(model: SentenceTransformer) -> bool:
    """Whether the model averages token vectors."""
    return is_module(model[0], "StaticEmbedding")


def check_batch(pairs: PairSource, training: Training) -> None:
    """Raise ConfigError when an epoch does not fill a batch; no more pairs are drawn than are needed to see it."""
    next(_batches(pairs, training)(SamplerState()))


def has_batches(pairs: PairSource, training: Training, count: int) -> bool:
    """Whether an epoch has at least so many batches; no more pairs are drawn than are needed to see it."""
    batches = _batches(pairs, training)
    trained = (pair for pair in pairs(0) if not batches.is_validation(pair))
    return next(islice(trained, count * training.batch - 1, None), None) is not None


def count_steps(pairs: PairSource, training: Training) -> Training:
    """The same with its length in steps; what a timetable of the training has to know."""
    return replace(training, steps=training.steps or max(1, round(training.epochs * _batches(pairs, training).count())))


def in_batch(
    temperature: float, *, groups: bool = True, roles: tuple[Role, Role] = ("query", "document")
) -> Contrastive:
    """RTS Eq. 1, MACLR Eq. 1. groups: whether pairs of one group are spared from being each other's negatives.

    roles: which prompts anchors and positives get.
    """
    from tagwright.training.losses import info_nce

    def loss(anchors: torch.Tensor, positives: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        return info_nce(anchors, positives, temperature, groups=group if groups else None)

    return Contrastive(loss, roles)


def check_temperature(temperature: float) -> None:
    """Raise ConfigError unless it is positive."""
    if temperature <= 0:
        raise ConfigError(f"temperature is {temperature}, expected a positive number; 0.05 is usual")


def _batches(pairs: PairSource, training: Training) -> Batches:
    return Batches(pairs, training.batch, validation=training.validation, seed=training.seed)


def _projection(inputs: int, outputs: int, seed: int) -> torch.nn.Module:
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        dense: torch.nn.Module = module_class("Dense")(
            inputs, outputs, bias=False, activation_function=torch.nn.Identity()
        )
        return dense
