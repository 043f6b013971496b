"""Score tokenised pairs: without padding for BERT models, by the library for any other."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tagwright.encoders import kernels
from tagwright.encoders.architecture import Architecture
from tagwright.encoders.bert import SECOND, Bert
from tagwright.encoders.library import say_general
from tagwright.encoders.pair_tokenizer import PairBatch
from tagwright.types import Floats, Longs

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder

_BATCH = 32


class Forward(Protocol):
    """Computes scores of pairs: `BertScores` where possible, `GeneralScores` for any other model."""

    def __call__(self, pair_batch: PairBatch, done: Callable[[int], object]) -> Floats:
        """(pairs,) scores; `done` is told how many pairs were scored since the last time."""
        ...


class BertScores:
    """BERT and a linear score of its CLS state, or of BERT's pooler output."""

    def __init__(self, body: Bert) -> None:
        self.body = body

    @classmethod
    def of(cls, model: CrossEncoder) -> BertScores | None:
        """Copy the current weights of the model; None if it is not such a model or has unknown parts."""
        try:
            return cls._of(model)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            say_general(repr(error))
            return None

    @classmethod
    def _of(cls, model: CrossEncoder) -> BertScores | None:
        import tokenizers

        inner: Any = model.transformers_model
        architecture = Architecture(
            ("Transformer", "Pooling"),
            inner.config.to_dict(),
            str(getattr(model[1], "pooling_mode", "")) if len(model) > 1 else "cls",
            model.max_seq_length,
        )
        if not architecture.is_bert or model.default_prompt_name or not (len(model) > 1 or hasattr(inner, "bert")):
            return None
        body = inner if len(model) > 1 else inner.bert
        tokenizer = tokenizers.Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
        return cls(_Scorer(architecture, body.state_dict(), tokenizer, _head(model)))

    def __call__(self, pair_batch: PairBatch, done: Callable[[int], object]) -> Floats:
        """(pairs,) scores."""
        ids = lambda batch: np.stack([pair_batch[i] for i in batch])  # noqa: E731
        return self.body.encode(pair_batch.lengths.tolist(), ids, done)[:, 0]


class GeneralScores:
    """Scores by the sentence-transformers model itself, in batches of pairs of about the same length."""

    def __init__(self, model: CrossEncoder) -> None:
        self.model, self.padding = model, int(model.tokenizer.pad_token_id or 0)

    def __call__(self, pair_batch: PairBatch, done: Callable[[int], object]) -> Floats:
        """(pairs,) scores."""
        import torch

        order = np.argsort(-pair_batch.lengths, kind="stable")
        scores = np.empty(len(order), np.float32)
        device, dtype = self.model.device, kernels.best_dtype(self.model.device)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            features = {
                name: torch.from_numpy(part).to(device) for name, part in self._padded(pair_batch, batch).items()
            }
            with torch.inference_mode(), torch.autocast(device.type, dtype, enabled=dtype == torch.bfloat16):
                scores[batch] = self.model(features)["scores"].float().cpu().numpy()[:, 0]
            done(len(batch))
        return scores

    def _padded(self, pair_batch: PairBatch, batch: Longs) -> dict[str, Longs]:
        mask = np.arange(pair_batch.lengths[batch].max()) < pair_batch.lengths[batch, None]
        ids = np.full(mask.shape, self.padding, np.int64)
        ids[mask] = np.concatenate([pair_batch[i] for i in batch.tolist()])
        parts = {"input_ids": ids % SECOND, "token_type_ids": ids // SECOND, "attention_mask": mask.astype(np.int64)}
        return {name: part for name, part in parts.items() if name in self.model.tokenizer.model_input_names}


class _Scorer(Bert):
    """head: (pairs, dim) float32 -> (pairs, 1)."""

    def __init__(self, architecture: Architecture, weights: Any, tokenizer: Any, head: kernels.Map) -> None:
        super().__init__(architecture, weights, tokenizer)
        self.width, self.head = 1, head

    def forward(
        self,
        ids: torch.Tensor,
        attend: Callable[..., torch.Tensor] = kernels.attend,
        types: torch.Tensor | None = None,
        skipped: int = 0,
    ) -> torch.Tensor:
        """(pairs, tokens) -> (pairs, 1)."""
        return self.head(super().forward(ids, attend, types, skipped).float())


def _head(model: CrossEncoder) -> kernels.Map:
    """The model's map of CLS states (pairs, dim) to scores, in float32, with copies of its weights."""

    def copied(module: Any) -> Any:
        return deepcopy(module).to(kernels.best_device()).float().eval()

    if len(model) > 1:
        score = copied(model[2])
        return lambda states: score({score.module_input_name: states})["scores"]
    inner: Any = model.transformers_model
    pooler, classifier = copied(inner.bert.pooler), copied(inner.classifier)
    return lambda states: classifier(pooler(states[:, None]))
