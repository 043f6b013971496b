"""Score pairs of texts by a model that reads both together.

BERT models are computed on the processor without padding and without torch; any other, and all on a GPU, by
sentence-transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.core.atomic import scratch_folder
from tagwright.core.progress import bar
from tagwright.encoders.architecture import Architecture, read_architecture, read_json
from tagwright.encoders.compiled import is_installed
from tagwright.encoders.device import (
    best_device,
    best_dtype,
    current_settings,
    feed,
    group_lengths,
    model_settings,
    uses_gpu,
)
from tagwright.encoders.layers import Map, linear
from tagwright.encoders.model_folder import PACKAGED, copy_model
from tagwright.encoders.pair_tokenizer import Pairs, PairTokenizer
from tagwright.encoders.precision import resolve
from tagwright.encoders.sentence_transformer import cached_once, load_library, load_model, say_general, write_model
from tagwright.encoders.static import encoder_folder
from tagwright.encoders.tokens import read_tokenizer
from tagwright.encoders.transformer import SECOND, Transformer
from tagwright.errors import ConfigError, ModelError
from tagwright.types import Floats, Longs

if TYPE_CHECKING:
    import sentence_transformers

Files: TypeAlias = tuple[Path, Architecture]
"The folder of a cross-encoder, and what its settings say."

Forward: TypeAlias = Callable[[Pairs, Callable[[int], object]], Floats]
"Computes the scores (pairs,); the second argument is told how many pairs were scored since the last time."

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
        self.name, self._make, self._files, self._device = name, model, files, current_settings().device

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
        read = replace(own, max_length=max_length or own.max_length)
        return cls(name, lambda: _load(folder, max_length), (folder, read))

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
        pairs = self.pair_tokenizer(firsts, seconds, rows, columns, first_tokens)
        with bar(progress, len(rows)) as done:
            return self._forward(pairs, done)

    @cached_once
    def model(self) -> sentence_transformers.CrossEncoder:
        """The sentence-transformers model, loaded when asked for. After training it, make a cross-encoder `of` it."""
        with model_settings(device=self._device):
            model = self._make()
        modules, expected = tuple(type(module).__name__ for module in model), ("Transformer", "Pooling", "Dense")
        is_plain = modules in {expected[:1], expected} and not model.default_prompt_name
        if model.num_labels != 1 or not is_plain:
            given = f"gives {model.num_labels} scores for a pair" if is_plain else "reads its pairs in a prompt"
            raise ModelError(f"{self.name}: {given}, expected one score of two texts as they are; take another model")
        model.eval()
        return model

    @cached_once
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
        write_model(self.model, Path(folder))

    @cached_once
    def _forward(self) -> Forward:
        with model_settings(device=self._device):
            own = None if uses_gpu() or not is_installed() else self._read_bert()
            return own or partial(_score_by_library, self.model)

    def _read_bert(self) -> Forward | None:
        """The scores of the files, or of what a model in memory is when it is written; None if it is no BERT."""
        if self._files:
            return _read_bert(*self._files)
        if getattr(self.model.config, "model_type", "") != "bert":
            return None
        with scratch_folder() as folder:
            try:
                self.save(folder)
                return _read_bert(folder, read_architecture(folder))
            except (AttributeError, ModelError) as error:  # it calls itself BERT, and has other parts
                say_general(error)
                return None


def _read_bert(folder: Path, architecture: Architecture) -> Forward | None:
    """Read a cross-encoder in the current or the older format; None if it has other parts, or more than one score.

    Raises ModelError when its files are damaged.
    """
    layers = None
    if architecture.modules[:2] != ("Transformer", "Pooling") or not architecture.after:
        architecture = replace(architecture, modules=("Transformer", "Pooling"), paths=(), pooling="cls")
        layers = _read_head
    precision = resolve("auto", quantisable=False)
    body = Transformer.read(folder, architecture, precision, layers) if architecture.is_bert else None
    return partial(_score_by_bert, body) if body and body.dim == 1 else None


def _score_by_bert(body: Transformer, pairs: Pairs, done: Callable[[int], object]) -> Floats:
    """(pairs,) scores by BERT and the layers that make a score of its CLS state."""
    lengths, ids = pairs
    return body.encode(lengths.tolist(), lambda batch: np.stack([ids(i) for i in batch]), done)[:, 0]


def _score_by_library(model: sentence_transformers.CrossEncoder, pairs: Pairs, done: Callable[[int], object]) -> Floats:
    """(pairs,) scores by the sentence-transformers model itself, in batches of pairs of about the same length."""
    import torch

    order = np.argsort(-pairs[0], kind="stable")
    device, dtype, found = model.device, best_dtype(model.device), list[torch.Tensor]()
    for part in group_lengths(pairs[0][order].tolist(), 32, feed(device).encoded):
        batch = order[part]
        padded = _pad_batch(model, pairs, batch)
        features = {name: torch.from_numpy(array).to(device) for name, array in padded.items()}
        with torch.inference_mode(), torch.autocast(device.type, dtype, enabled=dtype == torch.bfloat16):
            found.append(model(features)["scores"].float()[:, 0])
        done(len(batch))
    scores = np.empty(len(order), np.float32)
    if found:
        scores[order] = torch.cat(found).cpu().numpy()  # only here the processor waits for a GPU
    return scores


def _pad_batch(model: sentence_transformers.CrossEncoder, pairs: Pairs, batch: Longs) -> dict[str, Longs]:
    lengths, ids_of = pairs
    mask = np.arange(lengths[batch].max()) < lengths[batch, None]
    ids = np.full(mask.shape, int(model.tokenizer.pad_token_id or 0), np.int64)
    ids[mask] = np.concatenate([ids_of(i) for i in batch.tolist()])
    parts = {"input_ids": ids % SECOND, "token_type_ids": ids // SECOND, "attention_mask": mask.astype(np.int64)}
    return {name: part for name, part in parts.items() if name in model.tokenizer.model_input_names}


def _read_head(weights: Mapping[str, Floats]) -> list[Map] | None:
    """The pooler and the classifier of a BertForSequenceClassification; None where they are not there."""
    names = [f"{layer}.{part}" for layer in ("bert.pooler.dense", "classifier") for part in ("weight", "bias")]
    if any(name not in weights for name in names):
        return None
    pooler, shift, classifier, bias = (weights[name] for name in names)
    return [linear(pooler, shift, tanh=True), linear(classifier, bias)]


def _is_cross(folder: Path, architecture: Architecture) -> bool:
    """Whether the folder holds a scoring layer besides the transformer, in the current or the old format."""
    kind = read_json(folder / "config_sentence_transformers.json").get("model_type")
    names = architecture.config.get("architectures") or [""]
    return kind == "CrossEncoder" or str(names[0]).endswith("ForSequenceClassification")


def _load(folder: Path, max_length: int | None) -> sentence_transformers.CrossEncoder:
    model: sentence_transformers.CrossEncoder = load_library(folder, pairs=True)
    model.max_seq_length = max_length or model.max_seq_length
    return model


def _with_new_head(folder: Path, architecture: Architecture, seed: int) -> sentence_transformers.CrossEncoder:
    """The transformer, and w of MICoL Eq. 6 initialised like BERT's own weights (Devlin et al., 2019)."""
    import torch
    from sentence_transformers import CrossEncoder
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling

    body = load_model(folder, architecture)
    dim = int(architecture.config["hidden_size"])
    w = np.random.default_rng(seed).normal(0, 0.02, (1, dim)).astype(np.float32)
    options: Any = {"init_weight": torch.from_numpy(w), "module_output_name": "scores"}
    head = Dense(dim, 1, bias=False, activation_function=torch.nn.Identity(), **options)
    modules = [body[0], Pooling(dim, "cls"), head]
    model: sentence_transformers.CrossEncoder = CrossEncoder(
        modules=modules, activation_fn=torch.nn.Identity(), device=str(best_device())
    )
    return model
