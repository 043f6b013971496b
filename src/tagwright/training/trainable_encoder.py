"""Make an encoder in memory trainable: tokens, chunks of texts, vectors with gradients."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from tagwright.encoders.architecture import prompts_of
from tagwright.encoders.bi_encoder import EncoderModel
from tagwright.encoders.cross_encoder import LONGEST
from tagwright.encoders.device import best_device, best_dtype, feed
from tagwright.encoders.pair_tokenizer import PairTokenizer
from tagwright.encoders.prompts import NONE, Prompts
from tagwright.encoders.token_table import TokenTable
from tagwright.encoders.tokens import Tokens, tokenizer_of
from tagwright.encoders.transformer import SECOND
from tagwright.errors import ConfigError, one_line_of
from tagwright.text.batch import WordCache
from tagwright.training import packing
from tagwright.types import Longs

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer

BYTES = 64
"Memory of the activations of a token, for each layer and dimension: 0.15 MB in MiniLM, in bfloat16."

CACHED_TEXTS = 1 << 16
"Texts whose tokens are kept, as segments of documents come again in each epoch."

_log = logging.getLogger(__name__)


def trainable_encoder(model: EncoderModel | CrossEncoder) -> TrainableEncoder:
    """The model as the trainer needs it: static, transformer, or a transformer that reads two texts."""
    if isinstance(model, TokenTable):
        return Static(model)
    import sentence_transformers

    if isinstance(model, sentence_transformers.CrossEncoder):
        return Reranker(model)
    model = cast("SentenceTransformer", model)
    return Static(model) if type(model[0]).__name__ == "StaticEmbedding" else Transformer(model)


class Static:
    """Token embeddings, averaged. All texts of a batch are one chunk: there is no padding and little to keep.

    given: the encoder; model: its module to train; forward: what computes vectors, with several processes a wrapper
    that exchanges their gradients. Of a table that is torch's own, without sentence-transformers, which takes ten times
    as long to load as to train it; its weights have the same name, as checkpoints name them.
    """

    has_dropout, room, precision = False, 0, "float32"

    def __init__(self, given: EncoderModel) -> None:
        import torch

        self.given, self.model = given, cast("torch.nn.Module", given)
        self._bag: torch.nn.EmbeddingBag | None = None
        if isinstance(given, TokenTable):
            table = torch.from_numpy(given.table)  # trained in place on a CPU; elsewhere `write_back` changes it
            self._bag = torch.nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="mean")
            self.model = torch.nn.Sequential(torch.nn.ModuleDict({"embedding": self._bag}))
            self.prompts, tokenizer = given.prompts, given.tokenizer
        else:
            self.prompts, tokenizer = prompts_of(given), cast("Any", given[0]).tokenizer
        self.forward: torch.nn.Module = self._bag or self.model
        tokenize = tokenizer_of(tokenizer)
        self._ids = WordCache(lambda texts: tokenize(texts).lists(), CACHED_TEXTS)

    def write_back(self) -> None:
        """Give a table its vectors, which may be on a GPU."""
        if self._bag is not None:
            cast("TokenTable", self.given).table[:] = self._bag.weight.detach().cpu().numpy()

    def tokenize(self, texts: Sequence[Any]) -> Tokens:
        """Without special tokens, however many there are."""
        return Tokens.of(self._ids(texts))

    def chunks(self, lengths: Longs, room: int) -> list[Longs]:  # noqa: ARG002
        """All texts at once."""
        return [np.arange(len(lengths))]

    def size(self, lengths: Longs) -> int:
        """Tokens: there is no padding."""
        return int(lengths.sum())

    def embed(self, tokens: Tokens, rows: Longs) -> torch.Tensor:
        """(rows, dim); a text without tokens is zero."""
        taken, device = tokens.take(rows), next(self.model.parameters()).device
        ids, offsets = (send_array(part, device) for part in (taken.ids, taken.starts))
        if self._bag is not None:
            vectors: torch.Tensor = self.forward(ids, offsets)
        else:
            vectors = self.forward({"input_ids": ids, "offsets": offsets})["sentence_embedding"]
        return vectors

    @contextmanager
    def ready(self) -> Iterator[None]:
        """One core is left for drawing and tokenising, which take as long as the rest."""
        import torch

        cores = torch.get_num_threads()
        torch.set_num_threads(max(1, cores - 1))
        try:
            yield
        finally:
            torch.set_num_threads(cores)


class Transformer:
    """A transformer, its pooling and the modules after it, in bfloat16 if the hardware supports it."""

    has_dropout, output = True, "sentence_embedding"

    def __init__(self, model: SentenceTransformer | CrossEncoder, prompts: Prompts | None = None) -> None:
        self.given, self.model = model, cast("Any", model)
        self.feed, self.packed, self.forward = feed(best_device()), False, self.model
        self.prompts, self.padding = prompts or prompts_of(model), int(model.tokenizer.pad_token_id or 0)
        if any(self.prompts.by_role.values()) and not self.prompts.pooled:
            raise ConfigError(
                "the encoder leaves its prompts out of its pooling, which a training here cannot do; train it without: "
                'prompts={query="", document=""}'
            )

    def write_back(self) -> None:
        """Do nothing: the weights of the module are those of the encoder."""

    def tokenize(self, texts: Sequence[Any]) -> Tokens:
        """With special tokens, at most as many tokens as the model reads."""
        if not texts:
            return Tokens.of([])
        encoded = self.model.tokenizer(
            list(texts), truncation=True, max_length=self.model.max_seq_length, return_attention_mask=False
        )
        return Tokens.of(encoded["input_ids"])

    @property
    def precision(self) -> str:
        """The number format of its products; sums, losses and weights are in float32."""
        return str(best_dtype(self.model.device)).removeprefix("torch.")

    @property
    def longest(self) -> int:
        """The most tokens of a text."""
        return int(self.model.max_seq_length or LONGEST)

    @property
    def room(self) -> int:
        """Tokens, padding included, whose activations have room in the memory."""
        import torch

        if self.feed.kept is not None:
            return self.feed.kept
        config = self.model.transformers_model.config
        cuda, device = torch.cuda, self.model.device
        free = cuda.mem_get_info(device)[0] + cuda.memory_reserved(device) - cuda.memory_allocated(device)
        return int(0.6 * free / (BYTES * config.num_hidden_layers * config.hidden_size))

    def chunks(self, lengths: Longs, room: int) -> list[Longs]:
        """Texts of about the same length, so that little is padded: the buckets of a batch. On a card all that fit."""
        budget = self.feed.chunk or max(room, self.feed.small)
        if self.packed and self.size(lengths) <= budget:
            return [np.arange(len(lengths))]
        return chunks(lengths, budget, self.feed.small, self.feed.padding, packed=self.packed)

    def size(self, lengths: Longs) -> int:
        """Tokens of these texts as one chunk, with its padding."""
        padded = int(lengths.max()) * len(lengths)
        return int(lengths.sum()) if self.packed and padded > self.feed.small else padded

    def embed(self, tokens: Tokens, rows: Longs) -> torch.Tensor:
        """(rows, dim) in float32."""
        taken = tokens.take(rows)
        padded = int(taken.lengths.max()) * len(rows)
        return self._vectors(taken, packed=self.packed and padded > self.feed.small)

    def features(self, ids: Longs) -> dict[str, Any]:
        """The input of the model, from the ids of `tokenize`."""
        return {"input_ids": ids}

    @contextmanager
    def ready(self) -> Iterator[None]:
        """With packed attention on a card, plain on a processor, where that trains 1.5 times as fast as SDPA."""
        inner = self.model.transformers_model
        before, switch = inner.config._attn_implementation, inner.set_attn_implementation
        try:
            if not self.feed.packed:
                switch("eager")
            elif len(self.model) > 1 and packing.can_pack(self.model):
                switch(packing.NAME)
                self.packed = self._packs()
                switch(packing.NAME if self.packed else before)
            yield
        finally:
            self.packed = False
            switch(before)

    def padded(self, tokens: Tokens, length: int) -> dict[str, Longs]:
        """The features (texts, length) of texts of at most so many tokens, filled up with padding."""
        mask = np.arange(length) < tokens.lengths[:, None]
        ids = np.full(mask.shape, self.padding)
        ids[mask] = tokens.ids
        return {"attention_mask": mask.astype(np.int64), **self.features(ids)}

    def vectors(self, features: Mapping[str, Any]) -> torch.Tensor:
        """(texts, dim) in float32, of features on the device of the model."""
        import torch

        device, dtype = self.model.device, best_dtype(self.model.device)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            vectors: torch.Tensor = self.forward(dict(features))[self.output]
        return vectors.float()

    def _vectors(self, tokens: Tokens, *, packed: bool) -> torch.Tensor:
        features: Mapping[str, Any]
        if packed:
            features = packing.features(tokens.lengths, self.model.transformers_model.config)
            features |= self.features(tokens.ids[None])
        else:
            features = self.padded(tokens, int(tokens.lengths.max()))
        device = self.model.device
        return self.vectors(
            {
                name: send_array(part, device) if isinstance(part, np.ndarray) else part
                for name, part in features.items()
            }
        )

    def _packs(self) -> bool:
        """Whether the vectors of two packed texts are those of padded ones, but for rounding: it is tried."""
        import torch

        texts = Tokens.of([[5, 6, 7, 8, 9], [10, 11, 12]])
        self.model.eval()
        try:
            with torch.no_grad():
                packed, padded = (self._vectors(texts, packed=packed) for packed in (True, False))
            off = float((packed - padded).abs().max() / padded.abs().max())
            problem = "" if off < 0.05 else f"vectors differ by {off:.2g} of the largest number"
        except (RuntimeError, TypeError, ValueError) as error:
            problem = one_line_of(error)
        if problem:
            _log.warning("texts are padded in training, more slowly: the model cannot read packed ones (%s)", problem)
        return not problem


class Reranker(Transformer):
    """A cross-encoder, which has no prompts: its texts are two, its vectors are scores, (pairs, 1)."""

    output = "scores"

    def __init__(self, model: CrossEncoder) -> None:
        super().__init__(model, NONE)
        self.pair_tokenizer = PairTokenizer(model.tokenizer.backend_tokenizer, int(model.max_seq_length or LONGEST))

    def tokenize(self, texts: Sequence[Any]) -> Tokens:
        """Both texts together, as `encoders.pair_tokenizer` does it; the ids hold types."""
        distinct = list(dict.fromkeys(text for pair in texts for text in pair))
        index = {text: i for i, text in enumerate(distinct)}
        rows, columns = (np.array([index[pair[which]] for pair in texts], np.int64) for which in (0, 1))
        _, ids = self.pair_tokenizer(distinct, distinct, rows, columns)
        return Tokens.of([ids(i).tolist() for i in range(len(texts))])

    def features(self, ids: Longs) -> dict[str, Any]:
        """Ids and types apart, as far as the model has types."""
        parts = {"input_ids": ids % SECOND, "token_type_ids": ids // SECOND}
        return {name: part for name, part in parts.items() if name in self.model.tokenizer.model_input_names}


TrainableEncoder: TypeAlias = Static | Transformer
"An encoder in training: `tokenize` is called from another thread than the rest; `ready` sets it up for training."


def send_array(array: Longs, device: torch.device) -> torch.Tensor:
    """The array on the device, without waiting for it."""
    import torch

    tensor = torch.from_numpy(np.asarray(array, order="C"))
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def chunks(lengths: Longs, budget: int, small: int = 512, padding: float = 1.1, *, packed: bool = False) -> list[Longs]:
    """Positions of texts in chunks of at most `budget` tokens, padding included, or of one text; long texts first.

    A chunk ends earlier where its padded size would exceed `padding` times its tokens, unless it has fewer than `small`
    tokens: chunks of very few tokens cost more than their padding. packed: there is no padding. The two longest,
    padded, are 8 tokens; a third would make it 12.

    >>> [chunk.tolist() for chunk in chunks(np.array([4, 2, 1, 2]), budget=8)]
    [[0, 1], [3, 2]]
    >>> [chunk.tolist() for chunk in chunks(np.array([4, 2, 1, 2]), budget=8, packed=True)]
    [[0, 1, 3], [2]]
    """
    order = np.argsort(-lengths, kind="stable")
    found, start, tokens = [], 0, 0
    for index, length in enumerate(lengths[order].tolist()):
        size = tokens + length if packed else int(lengths[order[start]]) * (index - start + 1)
        if index > start and (size > budget or (tokens >= small and size > padding * (tokens + length))):
            found.append(order[start:index])
            start, tokens = index, 0
        tokens += length
    return [*found, order[start:]] if len(order) else []
