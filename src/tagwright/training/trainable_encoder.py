"""Make an encoder in memory trainable: tokens, chunks of texts, vectors with gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from tagwright.encoders.architecture import prompts_of
from tagwright.encoders.bi_encoder import EncoderModel
from tagwright.encoders.cross_encoder import LONGEST
from tagwright.encoders.device import best_dtype
from tagwright.encoders.pair_tokenizer import PairTokenizer
from tagwright.encoders.prompts import NONE, Prompts
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

    given: the encoder; model: its module to train. Of a table that is torch's own, without sentence-transformers, which
    takes ten times as long to load as to train it; its weights have the same name, as checkpoints name them.
    """

    has_dropout = False

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
        self._tokenize = TextCache(tokenizer_of(tokenizer))

    def write_back(self) -> None:
        """Give a table its vectors, which may be on a GPU."""
        if self._bag is not None:
            cast("TokenTable", self.given).table[:] = self._bag.weight.detach().cpu().numpy()

    def tokenize(self, texts: Sequence[Any]) -> Tokens:
        """Without special tokens, however many there are."""
        return self._tokenize(texts)

    def chunks(self, lengths: Longs) -> list[Longs]:
        """All texts at once."""
        return [np.arange(len(lengths))]

    def embed(self, tokens: Tokens, rows: Longs) -> torch.Tensor:
        """(rows, dim); a text without tokens is zero."""
        import torch

        taken, device = tokens.take(rows), next(self.model.parameters()).device
        ids, offsets = (torch.from_numpy(part).to(device) for part in (taken.ids, taken.starts))
        if self._bag is not None:
            vectors: torch.Tensor = self._bag(ids, offsets)
        else:
            vectors = self.model({"input_ids": ids, "offsets": offsets})["sentence_embedding"]
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
        pair_batch = self.pair_tokenizer(distinct, distinct, rows, columns)
        return Tokens.of([pair_batch[i].tolist() for i in range(len(texts))])

    def features(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """Ids and types apart, as far as the model has types."""
        parts = {"input_ids": ids % SECOND, "token_type_ids": ids // SECOND}
        return {name: part for name, part in parts.items() if name in self.model.tokenizer.model_input_names}


TrainableEncoder: TypeAlias = Static | Transformer
"An encoder in training: `tokenize` is called from another thread than the rest; `ready` sets it up for training."


def chunks(lengths: Longs, budget: int) -> list[Longs]:
    """Positions of texts in chunks of at most `budget` tokens, padding included, or of one text; long texts first.

    A chunk ends earlier where its padded size would exceed its tokens by a tenth, unless it has fewer than 512 tokens:
    chunks of very few tokens cost more than their padding. The two longest, padded, are 8 tokens; a third would make it
    12.

    >>> [chunk.tolist() for chunk in chunks(np.array([4, 2, 1, 2]), budget=8)]
    [[0, 1], [3, 2]]
    """
    order = np.argsort(-lengths, kind="stable")
    found, start, tokens = [], 0, 0
    for index, length in enumerate(lengths[order].tolist()):
        padded = int(lengths[order[start]]) * (index - start + 1)
        if index > start and (padded > budget or (tokens >= 512 and padded > 1.1 * (tokens + length))):
            found.append(order[start:index])
            start, tokens = index, 0
        tokens += length
    return [*found, order[start:]] if len(order) else []
