"""The encoder options that trained methods share, and the training of an encoder by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from tagwright.core.checked import AtLeastOne, Checked, Range
from tagwright.core.steps import Steps
from tagwright.encoders.architecture import read_architecture
from tagwright.encoders.bi_encoder import BiEncoder, EncoderModel
from tagwright.encoders.device import uses_gpu
from tagwright.encoders.model_folder import PACKAGED, STATIC, find, pin_revision
from tagwright.encoders.prompts import check_prompts
from tagwright.errors import ConfigError
from tagwright.stages.dense import DenseOptions, LabelText
from tagwright.training.batching import Batches
from tagwright.training.config import TrainingConfig, TrainingPlan
from tagwright.training.objectives import Objective
from tagwright.types import PairSource

OF_TRANSFORMERS = ("pooling", "max_length", "projection", "prompts")
"Options that a static encoder does not have."


@dataclass(frozen=True, kw_only=True)
class EncoderOptions(Checked):
    """The encoder to train. Raises ConfigError for invalid values."""

    encoder: str = "auto"
    """"static", distilled from minilm: averaged token vectors; "minilm", a folder, or a Hugging Face id, optionally
    with @revision, which is fetched if it is not on this machine; "auto" is static without a GPU and minilm with
    one."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Prompts before the texts of a transformer: "query" for texts to tag, "document" for labels, as in
    {query="query: ", document="passage: "} for E5; missing ones are the model's own, and "" is none."""
    max_length: Annotated[int, Range(least=3)] | None = None
    "Tokens that a transformer reads of a text; None: as many as it can. A static encoder reads all."

    def __post_init__(self) -> None:
        super().__post_init__()
        check_prompts(self.prompts)
        of_transformers = any(getattr(self, name, None) for name in OF_TRANSFORMERS)
        if of_transformers and self.encoder_name == STATIC:  # "auto" loads torch
            why = "the encoder is static" + (", as auto is without a GPU" if self.encoder == "auto" else "")
            raise ConfigError(f"pooling, max_length, projection and prompts are of transformers; {why}")

    @property
    def encoder_name(self) -> str:
        """The encoder that "auto" resolves to on this machine, or the named one."""
        if self.encoder != "auto":
            return self.encoder
        return PACKAGED if uses_gpu() else STATIC

    @property
    def resolved(self) -> dict[str, Any]:
        """The resolved values of "auto" and unset options on this machine, stored with the trained tagger.

        A model of the Hugging Face Hub is named with its revision.
        """
        return {"encoder": pin_revision(self.encoder_name)}

    @property
    def is_static(self) -> bool:
        """Whether the encoder averages token vectors. Raises ModelError if there is no encoder of this name."""
        name = self.encoder_name
        return name == STATIC or read_architecture(find(name)).is_static


@dataclass(frozen=True, kw_only=True)
class VectorOptions(EncoderOptions):
    """The encoder to train, and how a transformer pools a text to one vector."""

    pooling: Literal["cls", "mean"] | None = None
    "How a transformer pools a text to one vector; None: as it was trained."
    projection: Annotated[int, Range(least=3)] | None = None
    "Dimensions that a linear layer maps a transformer's vectors to (MACLR: 512). It is randomly initialised."


@dataclass(frozen=True, kw_only=True)
class RetrievalOptions(VectorOptions):
    """The encoder to train, and the options of label search by its vectors."""

    label_text: LabelText = "both"
    """The text of a label to embed. The papers use its full text ("text"); "both" averages the vectors of name and
    text, so that a long description does not hide the name: see `DenseOptions`."""
    candidates: AtLeastOne = 500
    "The number of labels to find for a document."

    @property
    def dense(self) -> DenseOptions:
        """Options of label search, and of label texts."""
        return DenseOptions(k=self.candidates, label_text=self.label_text)


def settle(config: TrainingConfig, plan: TrainingPlan, pairs: PairSource) -> TrainingPlan:
    """The method's plan with the user's settings.

    A batch size that the user has not set is halved until an epoch has 8 batches. Raises ConfigError when the pairs of
    an epoch do not fill a batch; no more of them are drawn than necessary.
    """
    settled = config.over(plan)
    while config.batch is None and settled.batch > 2:
        if _batches(pairs, settled).has(8):  # with fewer, the few steps are all warm-up
            return settled  # and no pairs are drawn again to see that they fill one
        settled = replace(settled, batch=settled.batch // 2)
    check_batch(pairs, settled)
    return settled


def train_model(
    model: EncoderModel,
    pairs: PairSource,
    objective: Objective,
    plan: TrainingPlan,
    steps: Steps = Steps(),
) -> BiEncoder:
    """Train a loaded model in place. steps: see `loop.train`."""
    from tagwright.training.loop import train

    train(model, pairs, objective, plan, steps)
    return BiEncoder.of(model)


def load(options: EncoderOptions, seed: int = 0) -> EncoderModel:
    """Load the encoder to train. seed: of the projection. Raises ModelError if there is no encoder of this name."""
    encoder, projection = load_untrained(options), getattr(options, "projection", None)
    if not projection:
        return encoder.trainable()
    import torch
    from sentence_transformers.sentence_transformer.modules import Dense

    model = encoder.model
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        inputs = int(model.get_embedding_dimension() or 0)
        model.append(Dense(inputs, projection, bias=False, activation_function=torch.nn.Identity()))
    return model


def load_untrained(options: EncoderOptions) -> BiEncoder:
    """Load a transformer to train with these options. Raises ModelError if there is no encoder of this name."""
    pooling = getattr(options, "pooling", None)
    return BiEncoder.load(options.encoder_name, max_length=options.max_length, pooling=pooling, prompts=options.prompts)


def check_batch(pairs: PairSource, plan: TrainingPlan) -> None:
    """Raise ConfigError when an epoch does not fill a batch; draws no more pairs than necessary."""
    next(_batches(pairs, plan)())


def count_steps(pairs: PairSource, plan: TrainingPlan) -> TrainingPlan:
    """Return the options with the length in steps, for the schedule of the training."""
    steps = max(1, round(plan.epochs * _batches(pairs, plan).count())) if plan.steps is None else plan.steps
    return replace(plan, steps=steps)


def _batches(pairs: PairSource, plan: TrainingPlan) -> Batches:
    return Batches(pairs, plan.batch, validation=plan.validation, seed=plan.seed)
