"""Make an encoder in memory trainable: tokens, chunks of texts, vectors with gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tagwright.encoders.architecture import prompts_of
from tagwright.encoders.bi_encoder import EncoderModel
from tagwright.encoders.cross_encoder import LONGEST
from tagwright.encoders.device import best_dtype
from tagwright.encoders.pair_tokenizer import PairTokenizer
from tagwright.encoders.prompts import Prompts, Role
from tagwright.encoders.token_table import TokenTable
from tagwright.encoders.tokens import TextCache, Tokens, tokenizer_of
from tagwright.encoders.transformer import SECOND
from tagwright.errors import ConfigError
from tagwright.types import Longs

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer

CHUNK_TOKENS = {"cpu": 4096, "cuda": 65_536}
"Tokens, padding included, that are encoded together; larger chunks are not faster."

PADDING = 1.1
"A chunk ends where its padded size would exceed its tokens by this factor ..."

SMALL_CHUNK = 512
"... unless it has fewer tokens than this: chunks of very few tokens cost more than their padding."


class TrainableEncoder(ABC):
    """An encoder in training. given: the encoder; model: its module to train."""

    has_dropout = True
    model: Any
    prompts: Prompts

    def __init__(self, given: EncoderModel | CrossEncoder) -> None:
        self.given = given
        if not isinstance(given, TokenTable):
            self.model, self.prompts = given, prompts_of(given)

    def prompted(self, texts: Sequence[Any], role: Role) -> Sequence[Any]:
        """The texts after the model's prompt for them."""
        prompt = self.prompts.of(role)
        return [prompt + text for text in texts] if prompt else texts

    @abstractmethod
    def tokenize(self, texts: Sequence[Any]) -> Tokens:
        """The token ids of each text, or of each two for a cross-encoder. Called from another thread than the rest."""

    @abstractmethod
    def chunks(self, lengths: Longs) -> list[Longs]:
        """Positions of the texts to encode together, each text once. lengths: (texts,) tokens."""

    @abstractmethod
    def embed(self, tokens: Tokens, rows: Longs) -> torch.Tensor:
        """(rows, dim) vectors of these texts, with their graph where gradients are on."""

    def write_back(self) -> None:
        """Give the encoder the weights of the module, where it has not the same."""
        return

    @abstractmethod
    def ready(self) -> AbstractContextManager[None]:
        """A context in which the model is set up for training."""


def trainable_encoder(model: EncoderModel | CrossEncoder) -> TrainableEncoder:
    """The model as the trainer needs it: static, transformer, or a transformer that reads two texts."""
    if isinstance(model, TokenTable):
        return Static(model)
    import sentence_transformers

    if isinstance(model, sentence_transformers.CrossEncoder):
        return Reranker(model)
    model = cast("SentenceTransformer", model)
    return Static(model) if type(model[0]).__name__ == "StaticEmbedding" else Transformer(model)


class Static(TrainableEncoder):
    """Token embeddings, averaged. All texts of a batch are one chunk: there is no padding and little to keep."""

    has_dropout = False

    def __init__(self, given: EncoderModel) -> None:
        super().__init__(given)
        if isinstance(given, TokenTable):
            from tagwright.training.static_model import StaticModel

            self.model, self.prompts = StaticModel(given), given.prompts
        tokenizer = given.tokenizer if isinstance(given, TokenTable) else self.model[0].tokenizer
        self._tokenize = TextCache(tokenizer_of(tokenizer))

    def write_back(self) -> None:
        """Of a table: its vectors, which may be on a GPU."""
        if isinstance(self.given, TokenTable):
            self.model.write_back()

    def tokenize(self, texts: Sequence[Any]) -> Tokens:
        """Without special tokens, however many there are."""
        return self._tokenize(texts)

    def chunks(self, lengths: Longs) -> list[Longs]:
        """All texts at once."""
        return [np.arange(len(lengths))]

    def embed(self, tokens: Tokens, rows: Longs) -> torch.Tensor:
        """(rows, dim); a text without tokens is zero."""
        import torch

        taken = tokens.take(rows)
        features = {"input_ids": torch.from_numpy(taken.ids), "offsets": torch.from_numpy(taken.starts)}
        device = self.model.device
        vectors: torch.Tensor = self.model({k: v.to(device) for k, v in features.items()})["sentence_embedding"]
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


class Transformer(TrainableEncoder):
    """A transformer, its pooling and the modules after it, in bfloat16 if the hardware supports it."""

    output = "sentence_embedding"

    def __init__(self, model: SentenceTransformer | CrossEncoder) -> None:
        super().__init__(model)
        self.padding = int(model.tokenizer.pad_token_id or 0)
        if any(self.prompts.by_role.values()) and not self.prompts.pooled:
            raise ConfigError(
                "the encoder leaves its prompts out of its pooling, which a training here cannot do; train it without: "
                'prompts={query="", document=""}'
            )

    def tokenize(self, texts: Sequence[Any]) -> Tokens:
        """With special tokens, at most as many tokens as the model reads."""
        if not texts:
            return Tokens.of([])
        encoded = self.model.tokenizer(
            list(texts), truncation=True, max_length=self.model.max_seq_length, return_attention_mask=False
        )
        return Tokens.of(encoded["input_ids"])

    def chunks(self, lengths: Longs) -> list[Longs]:
        """Texts of about the same length, so that little is padded: the buckets of a batch."""
        return chunks(lengths, CHUNK_TOKENS[self.model.device.type])

    def embed(self, tokens: Tokens, rows: Longs) -> torch.Tensor:
        """(rows, dim) in float32."""
        import torch

        device = self.model.device
        lengths = torch.from_numpy(tokens.lengths[rows])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        ids = torch.full(mask.shape, self.padding)
        ids[mask] = torch.from_numpy(tokens.take(rows).ids)
        features = {"attention_mask": mask.long(), **self.features(ids)}
        dtype = best_dtype(device)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            vectors: torch.Tensor = self.model({k: v.to(device) for k, v in features.items()})[self.output]
        return vectors.float()

    def features(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """The padded input of the model, from the ids of `tokenize`."""
        return {"input_ids": ids}

    @contextmanager
    def ready(self) -> Iterator[None]:
        """On a CPU with plain attention, which trains 1.5 times as fast as SDPA there."""
        inner: Any = getattr(self.model, "transformers_model", None)
        # The setting is private: if it is missing, the model trains with its own attention.
        before = getattr(getattr(inner, "config", None), "_attn_implementation", None)
        switch = getattr(inner, "set_attn_implementation", None)
        if self.model.device.type != "cpu" or switch is None or not isinstance(before, str):
            yield
            return
        switch("eager")
        try:
            yield
        finally:
            switch(before)


class Reranker(Transformer):
    """A cross-encoder: its texts are two, its vectors are scores, (pairs, 1)."""

    output = "scores"

    def __init__(self, model: CrossEncoder) -> None:
        super().__init__(model)
        self.pair_tokenizer = PairTokenizer(model.tokenizer.backend_tokenizer, int(model.max_seq_length or LONGEST))

    def prompted(self, texts: Sequence[Any], role: Role) -> Sequence[Any]:  # noqa: ARG002
        """Return the texts unchanged: a cross-encoder has no prompts."""
        return texts

    def tokenize(self, texts: Sequence[Any]) -> Tokens:
        """Both texts together, as `encoders.pair_tokenizer` does it; the ids hold types."""
        distinct = list(dict.fromkeys(text for pair in texts for text in pair))
        index = {text: i for i, text in enumerate(distinct)}
        rows, columns = (np.array([index[pair[which]] for pair in texts], np.int64) for which in (0, 1))
        pair_batch = self.pair_tokenizer(distinct, distinct, rows, columns)
        return Tokens.of([pair_batch[i].tolist() for i in range(len(texts))])

    def features(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """Ids and types apart, as far as the model has types."""
        parts = {"input_ids": ids % SECOND, "token_type_ids": ids // SECOND}
        return {name: part for name, part in parts.items() if name in self.model.tokenizer.model_input_names}


def chunks(lengths: Longs, budget: int) -> list[Longs]:
    """Positions of texts in chunks of at most `budget` tokens, padding included, or of one text; long texts first.

    The two longest, padded, are 8 tokens; a third would make it 12.

    >>> [chunk.tolist() for chunk in chunks(np.array([4, 2, 1, 2]), budget=8)]
    [[0, 1], [3, 2]]
    """
    order = np.argsort(-lengths, kind="stable")
    found, start, tokens = [], 0, 0
    for index, length in enumerate(lengths[order].tolist()):
        padded = int(lengths[order[start]]) * (index - start + 1)
        if index > start and (padded > budget or (tokens >= SMALL_CHUNK and padded > PADDING * (tokens + length))):
            found.append(order[start:index])
            start, tokens = index, 0
        tokens += length
    return [*found, order[start:]] if len(order) else []
