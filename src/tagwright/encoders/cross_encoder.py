"""Score pairs of texts by a model that reads both together, also one for natural language inference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.core.extras import require
from tagwright.core.progress import bar
from tagwright.encoders.architecture import Architecture, check_named, read_architecture, read_json
from tagwright.encoders.compiled import is_installed
from tagwright.encoders.device import best_device, chosen_device, on_device, uses_gpu
from tagwright.encoders.library import ModuleName, is_module, module_class, same_scores
from tagwright.encoders.model_folder import PACKAGED, copy_model
from tagwright.encoders.once import once
from tagwright.encoders.pair_scoring import BertScores, Forward, GeneralScores, of_inference
from tagwright.encoders.pair_tokenizer import PairBatch, PairTokenizer
from tagwright.encoders.sentence_transformer import load_model
from tagwright.encoders.static import encoder_folder
from tagwright.encoders.tokens import check_growth, read_tokenizer
from tagwright.errors import ConfigError, ModelError
from tagwright.types import Floats

if TYPE_CHECKING:
    import sentence_transformers

Files: TypeAlias = tuple[Path, Architecture]
"The folder of a cross-encoder, and what its settings say."

_IN_A_PROMPT = "reads its pairs in a prompt, expected a cross-encoder that reads them as they are"

LONGEST = 512
"The default maximum of tokens of a pair (MICoL A.3.2)."


class CrossEncoder:
    """Scores how well two texts match, MICoL Eq. 5 and 6. Make one with `load` or `of`.

    A pair that is too long is truncated at its longer text, until both have half: a label stays whole. A score is the
    model's own before any sigmoid, and of any size.
    """

    def __init__(
        self, name: str, model: Callable[[], sentence_transformers.CrossEncoder], files: Files | None = None
    ) -> None:
        self.name, self._make, self._files, self._device = name, model, files, chosen_device()

    @classmethod
    def load(cls, name: str = PACKAGED, *, max_length: int | None = None, seed: int = 0) -> CrossEncoder:
        """A folder or Hugging Face id in the cross-encoder format, or a transformer that becomes one.

        The latter, as the packaged "minilm", gets a linear score of its CLS state, which is randomly initialised (seed)
        and must be trained. max_length: tokens of a pair; None: as the model was made for, at most 512 for a new one. A
        Hugging Face model that is not on this machine is fetched, see `model_folder.find`; weights are read from
        safetensors only. Raises ModelError when there is no such encoder, when it is static or gives more than one
        score; ConfigError for a max_length it cannot have.
        """
        folder = encoder_folder(name)
        own = read_architecture(folder)
        if own.is_static:
            raise ModelError(f"{name}: is a static encoder, which cannot read two texts together; take a transformer")
        positions = int(own.config.get("max_position_embeddings", LONGEST))
        if max_length is not None and not 8 <= max_length <= positions:
            raise ConfigError(f"max_length is {max_length}; encoder {name} reads from 8 to {positions} tokens")

        if not _is_cross(folder, own):
            new = replace(own, max_length=max_length or min(LONGEST, positions))
            return cls(name, lambda: _with_new_head(folder, new, seed))
        if own.prompts.default:
            raise ModelError(f"{name}: {_IN_A_PROMPT}")
        read = replace(own, max_length=max_length or own.max_length)
        return cls(name, lambda: as_one_score(_load(folder, max_length)), (folder, read))

    @classmethod
    def of(cls, model: sentence_transformers.CrossEncoder, name: str = "in memory") -> CrossEncoder:
        """A cross-encoder with the weights that `model` has when the first pair is scored."""
        return cls(name, lambda: model)

    def score(
        self,
        firsts: Sequence[str],
        seconds: Sequence[str],
        rows: NDArray[np.integer],
        columns: NDArray[np.integer],
        *,
        first_tokens: int | None = None,
        progress: str = "",
    ) -> Floats:
        """(pairs,) the score of each pair; pair i is firsts[rows[i]] with seconds[columns[i]].

        first_tokens: the most tokens of a first text; None: as many as fit. progress: the title of a progress bar on
        stderr; without one there is none.
        """
        pair_batch = self.pair_tokenizer(firsts, seconds, rows, columns, first_tokens)
        with bar(progress, len(rows)) as done:
            return self._forward(pair_batch, done)

    @once
    def model(self) -> sentence_transformers.CrossEncoder:
        """The sentence-transformers model, loaded when asked for. After training it, make a cross-encoder `of` it."""
        with on_device(self._device):
            model = _checked(self._make(), self.name)
        model.eval()
        return model

    @once
    def pair_tokenizer(self) -> PairTokenizer:
        """The tokenizer of pairs."""
        if self._files and (file := self._files[0] / "tokenizer.json").is_file():
            return PairTokenizer(read_tokenizer(file), self._files[1].max_length or LONGEST)
        return PairTokenizer(self.model.tokenizer.backend_tokenizer, int(self.model.max_seq_length or LONGEST))

    def save(self, folder: Path | str) -> None:
        """Write in the cross-encoder format of sentence-transformers.

        One that is as it was read is copied. The tokenizer of another is written without the padding and the length of
        the pairs that it happened to read last.
        """
        source, read = self._files or (Path(folder), None)
        untouched = "model" not in vars(self)  # one that was loaded may have been trained since
        if untouched and source.resolve() != Path(folder).resolve() and read == read_architecture(source):
            copy_model(source, Path(folder))
            return
        tokenizer = getattr(self.model.tokenizer, "backend_tokenizer", None)
        if tokenizer is not None:
            tokenizer.no_padding()
            tokenizer.no_truncation()
        self.model.save(str(folder), create_model_card=False)

    @once
    def _forward(self) -> Forward:
        with on_device(self._device):
            if uses_gpu() or not is_installed():
                return GeneralScores(self.model)
            if self._files:
                read = BertScores.read(*self._files)
                if read and read.scores != 1:
                    raise _too_many(self.name, read.scores)
                return read or GeneralScores(self.model)
            own = BertScores.of(self.model)
            agrees = own and same_scores(lambda pairs: own(self._joined(pairs), lambda _: None), self.model)
            return own if own and agrees else GeneralScores(self.model)

    def _joined(self, pairs: Sequence[tuple[str, str]]) -> PairBatch:
        firsts, seconds = zip(*pairs, strict=True)
        return self.pair_tokenizer(firsts, seconds, np.arange(len(pairs)), np.arange(len(pairs)))


def _is_cross(folder: Path, architecture: Architecture) -> bool:
    """Whether the folder holds a scoring layer besides the transformer, in the current or the old format."""
    settings = folder / "config_sentence_transformers.json"
    kind = read_json(settings).get("model_type")
    names = architecture.config.get("architectures") or [""]
    return kind == "CrossEncoder" or str(names[0]).endswith("ForSequenceClassification")


def _load(folder: Path, max_length: int | None) -> sentence_transformers.CrossEncoder:
    """From local files, safetensors only, no code of the model's own."""
    require(f"the cross-encoder {folder}", "torch", "sentence_transformers")
    from sentence_transformers import CrossEncoder
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    check_named(folder)
    try:
        model: sentence_transformers.CrossEncoder = CrossEncoder(
            str(folder),
            device=str(best_device()),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        check_growth(model.tokenizer, folder)
        model.predict([("a", "b")], show_progress_bar=False)  # shows unusable settings now
    except ModelError:
        raise
    except Exception as error:  # any error that four libraries may raise for a damaged file
        raise ModelError(f"{folder}: cannot be loaded as a cross-encoder ({error})") from error
    model.max_seq_length = max_length or model.max_seq_length
    return model


def _with_new_head(folder: Path, architecture: Architecture, seed: int) -> sentence_transformers.CrossEncoder:
    """The transformer, and w of MICoL Eq. 6 initialised like BERT's own weights (Devlin et al., 2019)."""
    import torch
    from sentence_transformers import CrossEncoder

    body = load_model(folder, architecture)
    dim = int(architecture.config["hidden_size"])
    w = np.random.default_rng(seed).normal(0, 0.02, (1, dim)).astype(np.float32)
    head = module_class("Dense")(
        dim,
        1,
        bias=False,
        activation_function=torch.nn.Identity(),
        init_weight=torch.from_numpy(w),
        module_output_name="scores",
    )
    modules = [body[0], module_class("Pooling")(dim, "cls"), head]
    model: sentence_transformers.CrossEncoder = CrossEncoder(
        modules=modules, activation_fn=torch.nn.Identity(), device=str(best_device())
    )
    return model


def _checked(model: sentence_transformers.CrossEncoder, name: str) -> sentence_transformers.CrossEncoder:
    kinds: tuple[ModuleName, ...] = ("Transformer", "Pooling", "Dense")
    modules = tuple(next((kind for kind in kinds if is_module(module, kind)), "") for module in model)
    if model.num_labels != 1:
        raise _too_many(name, model.num_labels)
    if modules not in {("Transformer",), ("Transformer", "Pooling", "Dense")} or model.default_prompt_name:
        raise ModelError(f"{name}: {_IN_A_PROMPT}")
    return model


def _too_many(name: str, scores: int) -> ModelError:
    return ModelError(f"{name}: gives {scores} scores for a pair, expected a cross-encoder with one")


def as_one_score(model: sentence_transformers.CrossEncoder) -> sentence_transformers.CrossEncoder:
    """The model with the difference of its logits of entailment and contradiction as its only score.

    The last layer is changed in place, so that the model is an ordinary cross-encoder from here on. One whose classes
    are others stays as it is.
    """
    import torch

    inner: Any = model.transformers_model
    classes = of_inference({str(name): number for number, name in inner.config.id2label.items()})
    if classes is None:
        return model
    count = len(inner.config.id2label)
    linear = [module for module in inner.modules() if isinstance(module, torch.nn.Linear)]
    last = next(module for module in reversed(linear) if module.out_features == count)
    with torch.no_grad():
        for name, weight in dict(last.named_parameters()).items():
            difference = weight[classes[0]] - weight[classes[1]]
            setattr(last, name, torch.nn.Parameter(difference[None].clone()))
    last.out_features = inner.num_labels = inner.config.num_labels = 1
    return model
