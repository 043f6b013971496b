"""Encode texts and pairs with a transformer on the processor, without padding."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagwright.encoders.architecture import Architecture
from tagwright.encoders.compiled import Computed, compile_graph
from tagwright.encoders.graphs import bert_graph, read_graph
from tagwright.encoders.layers import Map, apply_layers, normalize, read_layers, read_tensors
from tagwright.encoders.model_folder import graph_files
from tagwright.encoders.prompts import Role
from tagwright.encoders.sentence_transformer import say_general
from tagwright.encoders.tokens import no_panic, read_tokenizer
from tagwright.errors import ModelError
from tagwright.registry import encoder_module
from tagwright.types import Floats, Longs

if TYPE_CHECKING:
    import tokenizers
    from openvino import Model

SECOND = 1 << 32
"Added to the id of a token of type 1, one of the second of two texts: so ids and types are one array."


class Transformer:
    """A transformer with CLS or mean pooling, and the layers that follow.

    graph: with inputs and output as those of `bert_graph`. words: how many tokens it has vectors for. after: maps of
    the pooled vectors (texts, dim), such as a linear layer.
    """

    def __init__(
        self,
        architecture: Architecture,
        graph: Model,
        words: int,
        tokenizer: tokenizers.Tokenizer,
        precision: Computed,
        after: Sequence[Map] = (),
    ) -> None:
        self.max_length = architecture.max_length or 0
        self.prompts, self.after, self.tokenizer = architecture.prompts, after, tokenizer
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length)
        self._run, self._words = compile_graph(graph, precision), words
        pooled = np.zeros((1, graph.output(0).partial_shape[1].get_length()), np.float32)
        self.dim = len(apply_layers(after, pooled)[0])

    @classmethod
    def read(
        cls,
        folder: Path,
        architecture: Architecture,
        precision: Computed,
        layers: Callable[[Mapping[str, Floats]], list[Map] | None] | None = None,
    ) -> Transformer | None:
        """Read a BERT from the files of a sentence-transformers model; None if it has other parts.

        architecture: one that `is_bert`. layers: makes what follows the pooling of the tensors; None: the modules of
        the folder do. Raises ModelError when the weights are damaged.
        """
        file, tokens = folder / "model.safetensors", folder / "tokenizer.json"
        weights: Mapping[str, Any]
        after: list[Map] | None = [normalize]
        if module := encoder_module(folder):
            file = folder / module.FILE
            _, tokenizer, weights = module.read(folder)
        elif not file.is_file() or not tokens.is_file():
            return None
        else:
            weights = read_tensors(file)
            after = layers(weights) if layers else read_layers(folder, architecture)
            tokenizer, weights = read_tokenizer(tokens), _rename_tensors(weights)
        if after is None:
            return None
        try:
            graph = bert_graph(architecture.config, weights, architecture.pooling, int8=precision == "int8")
            words = len(weights["embeddings.word_embeddings.weight"])
            return cls(architecture, graph, words, tokenizer, precision, after)
        except (KeyError, RuntimeError, TypeError, ValueError, ArithmeticError) as error:
            problem = f"there is no {error}" if isinstance(error, KeyError) else error
            raise ModelError(f"{file}: damaged ({problem}); get the model again") from error

    @classmethod
    def read_exported(cls, folder: Path, architecture: Architecture, precision: Computed) -> Transformer | None:
        """The same of an architecture that `is_other`, from its exported graph; None without one that fits.

        The log says why a graph does not fit. Raises ModelError when another file is damaged.
        """
        tokens, after = folder / "tokenizer.json", read_layers(folder, architecture)
        files = graph_files(folder)
        if not files or not tokens.is_file() or after is None:
            return None
        try:
            graph = read_graph(files[0], architecture.pooling)
            tokenizer = read_tokenizer(tokens)
            words = architecture.config.get("vocab_size", tokenizer.get_vocab_size())
            own = cls(architecture, graph, words, tokenizer, precision, after)
            own.encode([3, 3], lambda batch: np.zeros((len(batch), 3)))
        except (RuntimeError, ValueError) as error:
            say_general(error, files[0])
            return None
        return own

    def __call__(
        self, texts: Sequence[str], done: Callable[[int], object] = lambda _: None, role: Role | None = None
    ) -> Floats:
        """(texts, dim) vectors of any norm. done: told how many texts were encoded since the last time.

        role: selects the prompt before the texts.
        """
        prompt = self.prompts.of(role)
        tokens = self.tokenize([prompt + text for text in texts] if prompt else texts)
        return self.encode([len(ids) for ids in tokens], lambda batch: [tokens[i] for i in batch], done)

    def encode(
        self,
        lengths: Sequence[int],
        ids: Callable[[list[int]], ArrayLike],
        done: Callable[[int], object] = lambda _: None,
    ) -> Floats:
        """(texts, dim) vectors of texts with this many tokens.

        ids: those of the texts at these positions, of one length; they may hold types: see SECOND.
        """
        vectors = np.empty((len(lengths), self.dim), np.float32)

        # Batches are small, so that activations stay in the caches of a core.
        small = batches(lengths, budget=1024)
        for batch, pooled in self._run(small, lambda batch: self._split(np.asarray(ids(batch), np.int64))):
            if len(pooled) != len(batch):
                raise ModelError(
                    "OpenVINO gives no vectors on this processor; unset ONEDNN_MAX_CPU_ISA, or uninstall openvino for "
                    'sentence-transformers to encode: pip install "tagwright[train]"'
                )
            vectors[batch] = apply_layers(self.after, pooled)
            done(len(batch))
        return vectors

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, at most `max_length`."""
        return tokenize(self.tokenizer, texts, self.max_length)

    def _split(self, ids: Longs) -> dict[str, Longs]:
        """Ids, all of which the model has vectors for, and types."""
        types, ids = np.divmod(ids, SECOND)
        if ids.max(initial=-1) >= self._words:
            raise ModelError("the encoder's tokenizer is damaged (it has tokens without a vector); get the model again")
        return {"ids": ids, "types": types}


def _rename_tensors(weights: Mapping[str, Floats]) -> dict[str, Floats]:
    """The tensors by the names that BERT itself gives them: older files and models around it have others."""
    last = "embeddings.word_embeddings.weight"
    prefix = next((name.removesuffix(last) for name in weights if name.endswith(last)), "")
    old = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
    found = {}
    for name, tensor in weights.items():
        bare = name.removeprefix(prefix)
        part = next((part for part in old if bare.endswith(part)), "")
        found[bare.removesuffix(part) + old[part] if part else bare] = tensor
    return found


def tokenize(
    tokenizer: tokenizers.Tokenizer, texts: Sequence[str], max_length: int, *, marks: bool = True
) -> list[list[int]]:
    """The token ids of each text.

    Long texts are read only as far as necessary. tokenizer: one that truncates at max_length. marks: whether to add
    [CLS] and [SEP].
    """
    heads = [_first_words(text, 8 * max_length) for text in texts]
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
    chunks = []
    for length, texts in sorted(same.items()):
        size = max(1, budget // length)
        chunks += [texts[start : start + size] for start in range(0, len(texts), size)]
    random.Random(0).shuffle(chunks)
    return chunks


def _first_words(text: str, length: int) -> str:
    """The first words of a text, at most `length` characters in all; all of it if it has no such words."""
    end = text.rfind(" ", 0, length) if len(text) > length else -1
    return text if end < 0 else text[:end]
