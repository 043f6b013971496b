"""Encode texts with BERT, without padding and in the fastest way that the machine has."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tagwright.encoders import int8, kernels
from tagwright.encoders.architecture import Architecture
from tagwright.encoders.library import say_general
from tagwright.encoders.precision import Computed, resolve
from tagwright.encoders.prompts import Role
from tagwright.encoders.token_table import no_panic, read_tokenizer
from tagwright.errors import ModelError
from tagwright.types import Floats, Longs

if TYPE_CHECKING:
    import tokenizers
    import torch
    from sentence_transformers import SentenceTransformer

BATCH_TOKENS = {"cpu": 1024, "cuda": 65_536}
"Tokens in a batch: few on a CPU, so that activations stay in the core's caches and memory is reused."


SECOND = 1 << 32
"Added to the id of a token of type 1, one of the second of two texts: so ids and types are one array."


class Layer(NamedTuple):
    """One layer of the transformer."""

    qkv: kernels.Map
    output: kernels.Map
    attention_norm: kernels.Map
    up: kernels.Map
    down: kernels.Map
    norm: kernels.Map


class Bert:
    """BERT (Devlin et al., 2019, section 3) with CLS or mean pooling.

    architecture: one that `is_bert`. weights: its tensors, named as in model.safetensors. precision: None: bfloat16
    where the device has it, otherwise float32.
    """

    def __init__(
        self,
        architecture: Architecture,
        weights: Mapping[str, torch.Tensor],
        tokenizer: tokenizers.Tokenizer,
        precision: Computed | None = None,
    ) -> None:
        import torch

        config = architecture.config
        self.dim, self.heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        self.width = self.dim
        self.pooling, self.max_length = architecture.pooling, architecture.max_length or 0
        self.prompts = architecture.prompts
        self.device = kernels.best_device()
        precision = precision or resolve("auto", quantisable=False)
        self.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        product = int8.linear if precision == "int8" else kernels.linear
        self.tokenizer = tokenizer
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length)

        def tensor(name: str, *shape: int | None) -> torch.Tensor:
            _check_tensor(name, weights[name], shape)
            return weights[name].to(self.device, self.dtype)

        def pair(name: str, outputs: int, inputs: int) -> tuple[torch.Tensor, torch.Tensor]:
            return tensor(f"{name}.weight", outputs, inputs), tensor(f"{name}.bias", outputs)

        def linear(name: str, outputs: int, inputs: int, *, gelu: bool = False) -> kernels.Map:
            return product(*pair(name, outputs, inputs), gelu=gelu)

        def norm(name: str) -> kernels.Map:
            weight, bias = (tensor(f"{name}.{part}", self.dim) for part in ("weight", "bias"))
            return kernels.layer_norm(weight, bias, config["layer_norm_eps"])

        def qkv(name: str) -> kernels.Map:
            scale = kernels.LOG2_E * (self.dim // self.heads) ** -0.5
            parts = (pair(f"{name}.{part}", self.dim, self.dim) for part in ("query", "key", "value"))
            return product(*(torch.cat([q * scale, k, v]) for q, k, v in zip(*parts, strict=True)))

        def layer(name: str) -> Layer:
            inner = len(weights[f"{name}.intermediate.dense.weight"])
            return Layer(
                qkv(f"{name}.attention.self"),
                linear(f"{name}.attention.output.dense", self.dim, self.dim),
                norm(f"{name}.attention.output.LayerNorm"),
                linear(f"{name}.intermediate.dense", inner, self.dim, gelu=True),
                linear(f"{name}.output.dense", self.dim, inner),
                norm(f"{name}.output.LayerNorm"),
            )

        self.words = tensor("embeddings.word_embeddings.weight", None, self.dim)
        # All tokens of a single text are of type 0: positions and types are one table.
        types = tensor("embeddings.token_type_embeddings.weight", None, self.dim)
        self.positions = tensor("embeddings.position_embeddings.weight", None, self.dim) + types[0]
        self.types = types - types[0]
        self.norm = norm("embeddings.LayerNorm")
        self.layers = [layer(f"encoder.layer.{i}") for i in range(config["num_hidden_layers"])]

    @classmethod
    def read(cls, folder: Path, architecture: Architecture, precision: Computed | None = None) -> Bert | None:
        """Read model.safetensors and tokenizer.json; None if the model has other parts.

        Raises ModelError when the weights are damaged.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        weights, tokenizer = folder / "model.safetensors", folder / "tokenizer.json"
        if not weights.is_file() or not tokenizer.is_file():
            return None
        splits = read_tokenizer(tokenizer)
        try:
            return cls(architecture, load_file(weights), splits, precision)
        except (SafetensorError, RuntimeError, TypeError, ValueError, ArithmeticError) as error:  # or the settings are
            raise ModelError(f"{weights}: damaged ({error}); get the model again") from error
        except KeyError as error:  # a tensor has another name; sentence-transformers draws at random what is missing
            if "LayerNorm" in str(error) or not _has_words(weights):
                return None
            raise ModelError(f"{weights}: damaged (there is no {error}); get the model again") from None

    @classmethod
    def of(
        cls, model: SentenceTransformer, architecture: Architecture, precision: Computed | None = None
    ) -> Bert | None:
        """Copy the current weights of a model in memory; None if they have other names."""
        import tokenizers

        try:
            tokenizer = tokenizers.Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
            inner: Any = model.transformers_model
            return cls(architecture, inner.state_dict(), tokenizer, precision)
        except (AttributeError, KeyError, TypeError) as error:
            say_general(repr(error))
            return None

    def forward(
        self,
        ids: torch.Tensor,
        attend: Callable[..., torch.Tensor] = kernels.attend,
        types: torch.Tensor | None = None,
        skipped: int = 0,
    ) -> torch.Tensor:
        """(texts, tokens) -> (texts, dim). All texts have the same number of tokens: no padding, so no mask.

        types: (texts, tokens), 0 or 1; None: all 0. skipped: tokens at the start that pooling leaves out. The vector
        of a text that has no others is that of its first token (cls) or zero (mean), as in sentence-transformers.
        """
        first = skipped if skipped < ids.shape[1] else 0
        x = self.words[ids] + self.positions[: ids.shape[1]]
        x = self.norm(x if types is None else x + self.types[types])
        for layer in self.layers:
            # (texts, tokens, 3 dim) -> 3 of (texts, heads, tokens, dim of a head), and back
            q, k, v = layer.qkv(x).view(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            if self.pooling == "cls" and layer is self.layers[-1]:  # its other tokens are not used
                x, q = x[:, first : first + 1], q[:, :, first : first + 1]
            attended = attend(q, k, v).transpose(1, 2).reshape(x.shape)
            x = layer.attention_norm(x + layer.output(attended))
            x = layer.norm(x + layer.down(layer.up(x)))
        if self.pooling == "cls":
            return x[:, 0]
        pooled = x[:, skipped:].float()
        return pooled.sum(1) / max(1, pooled.shape[1]) if skipped else pooled.mean(1)

    def __call__(
        self, texts: Sequence[str], done: Callable[[int], object] = lambda _: None, role: Role | None = None
    ) -> Floats:
        """(texts, dim) vectors of any norm. done: told how many texts were encoded since the last time.

        role: selects the prompt before the texts.
        """
        prompt = self.prompts.of(role)
        tokens = self.tokenize([prompt + text for text in texts] if prompt else texts)
        # As sentence-transformers counts a prompt: the tokens that it has alone, [CLS] among them, but not [SEP].
        skipped = len(self.tokenize([prompt])[0]) - 1 if prompt and not self.prompts.pooled else 0
        return self.encode([len(ids) for ids in tokens], lambda batch: [tokens[i] for i in batch], done, skipped)

    def encode(
        self,
        lengths: Sequence[int],
        ids: Callable[[list[int]], ArrayLike],
        done: Callable[[int], object],
        skipped: int = 0,
    ) -> Floats:
        """(texts, width) vectors of texts with this many tokens.

        ids: those of the texts at these positions, of one length. The ids may hold types: see SECOND. skipped: see
        `forward`.
        """
        vectors = np.empty((len(lengths), self.width), np.float32)

        def encode(batch: list[int]) -> int:
            vectors[batch] = self._encode(np.asarray(ids(batch), np.int64), skipped)
            return len(batch)

        with kernels.workers(self.device) as each:
            for encoded in each(encode, batches(lengths, BATCH_TOKENS[self.device.type])):
                done(encoded)
        return vectors

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, at most `max_length`."""
        return tokenize(self.tokenizer, texts, self.max_length)

    def _encode(self, pair_batch: Longs, skipped: int) -> Floats:
        import torch

        if pair_batch.shape[1] > len(self.positions) or (pair_batch % SECOND).max(initial=0) >= len(self.words):
            problem = "it has tokens, or gives more of them, than the encoder has vectors for"
            raise ModelError(f"the encoder's tokenizer is damaged ({problem}); get the model again")
        with torch.inference_mode():
            ids = torch.from_numpy(pair_batch % SECOND).to(self.device)
            types = torch.from_numpy(pair_batch // SECOND).to(self.device) if (pair_batch >= SECOND).any() else None
            vectors = self.forward(ids, types=types, skipped=skipped)
            failed = ~vectors.isfinite().all(-1)
            if failed.any():  # these texts only: the vector of a text must not depend on the others of its batch
                types = None if types is None else types[failed]
                vectors[failed] = self.forward(ids[failed], kernels.attend_any, types, skipped)
            return vectors.float().cpu().numpy()


def _check_tensor(name: str, found: torch.Tensor, shape: Sequence[int | None]) -> None:
    """Raise ValueError unless it holds numbers with a point, in this shape; None: any length."""
    right = len(shape) == found.ndim and all(n in (None, m) for n, m in zip(shape, found.shape, strict=True))
    if not right or not found.is_floating_point():
        raise ValueError(f"{name} is {tuple(found.shape)} {found.dtype}, expected {tuple(shape)} in floating point")


def _has_words(weights: Path) -> bool:
    """Whether all tensors have known names, so that a missing tensor is not there under another name."""
    from safetensors import safe_open

    with safe_open(weights, "pt") as file:
        return "embeddings.word_embeddings.weight" in file.keys()  # noqa: SIM118 - not a mapping


def tokenize(
    tokenizer: tokenizers.Tokenizer, texts: Sequence[str], max_length: int, *, marks: bool = True
) -> list[list[int]]:
    """The token ids of each text.

    Long texts are read only as far as necessary. tokenizer: one that truncates at max_length. marks: whether to add
    [CLS] and [SEP].
    """
    heads = [_head(text, 8 * max_length) for text in texts]
    with no_panic():
        tokens = [encoding.ids for encoding in tokenizer.encode_batch_fast(heads, add_special_tokens=marks)]
        for i, text in enumerate(texts):
            if len(tokens[i]) < max_length and len(heads[i]) < len(text):  # its words are very long
                tokens[i] = tokenizer.encode(text, add_special_tokens=marks).ids
    return tokens


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Positions of texts of equal length, with `budget` tokens or one text in each batch.

    In mixed order, so that the remaining time of a progress bar is accurate from the start.

    >>> sorted(batches([3, 5, 3, 3], budget=6))
    [[0, 2], [1], [3]]
    """
    same = defaultdict(list)
    for i, length in enumerate(lengths):
        same[length].append(i)
    found = []
    for length, texts in sorted(same.items()):
        size = max(1, budget // length)
        found += [texts[start : start + size] for start in range(0, len(texts), size)]
    random.Random(0).shuffle(found)
    return found


def _head(text: str, length: int) -> str:
    """The first words of a text, at most `length` characters in all; all of it if it has no such words."""
    end = text.rfind(" ", 0, length) if len(text) > length else -1
    return text if end < 0 else text[:end]
