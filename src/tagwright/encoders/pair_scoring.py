"""Score tokenised pairs: without padding for BERT models, by the library for any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tagwright.encoders.architecture import Architecture
from tagwright.encoders.device import best_dtype
from tagwright.encoders.layers import Map, layer_of, linear, numpy_weights
from tagwright.encoders.library import say_general
from tagwright.encoders.pair_tokenizer import PairBatch
from tagwright.encoders.precision import resolve
from tagwright.encoders.tokens import read_tokenizer
from tagwright.encoders.transformer import SECOND, Transformer
from tagwright.encoders.weights import read_tensors
from tagwright.types import Floats, Longs

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_BATCH = 32

ENTAILMENT, CONTRADICTION = "entailment", ("contradiction", "not_entailment")


class Forward(Protocol):
    """Computes scores of pairs: `BertScores` where possible, `GeneralScores` for any other model."""

    def __call__(self, pair_batch: PairBatch, done: Callable[[int], object]) -> Floats:
        """(pairs,) scores; `done` is told how many pairs were scored since the last time."""
        ...


class BertScores:
    """BERT, and the layers that make scores of its CLS state. scores: how many of a pair; only the first is given."""

    def __init__(self, body: Transformer) -> None:
        self.body, self.scores = body, body.dim

    @classmethod
    def read(cls, folder: Path, architecture: Architecture) -> BertScores | None:
        """Read a cross-encoder in the current or the older format; None if it has other parts.

        Raises ModelError when its files are damaged.
        """
        precision = resolve("auto", quantisable=False)
        if architecture.modules[:2] == ("Transformer", "Pooling") and architecture.after:
            body = Transformer.read(folder, architecture, precision) if architecture.is_bert else None
            return None if body is None else cls(body)
        weights, tokens = folder / "model.safetensors", folder / "tokenizer.json"
        architecture = _with_cls(architecture)
        if not architecture.is_bert or not weights.is_file() or not tokens.is_file():
            return None
        tensors = read_tensors(weights)
        layers = _head(tensors, architecture.config)
        if layers is None:
            return None
        return cls(Transformer.of_weights(weights, tensors, architecture, read_tokenizer(tokens), precision, layers))

    @classmethod
    def of(cls, model: CrossEncoder) -> BertScores | None:
        """Copy the current weights of the model; None if it is not such a model or has unknown parts."""
        try:
            return cls._of(model)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            say_general(repr(error))
            return None

    @classmethod
    def _of(cls, model: CrossEncoder) -> BertScores | None:
        import tokenizers

        inner: Any = model.transformers_model
        pooling = str(getattr(model[1], "pooling_mode", "")) if len(model) > 1 else "cls"
        architecture = Architecture(("Transformer", "Pooling"), inner.config.to_dict(), pooling, model.max_seq_length)
        weights = numpy_weights(inner)
        layers = [layer_of(module) for module in list(model)[2:]] or _head(weights, {})
        if not architecture.is_bert or model.default_prompt_name or layers is None:
            return None
        tokenizer = tokenizers.Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
        return cls(Transformer.of_tensors(weights, architecture, tokenizer, resolve("auto", quantisable=False), layers))

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
        device, dtype = self.model.device, best_dtype(self.model.device)
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


def of_inference(classes: Mapping[str, int]) -> tuple[int, int] | None:
    """The numbers of the classes entailment and contradiction; None where a model has others. classes: by their names.

    The difference of their logits ranks as the probability of entailment between the two does (0SHOT-TC, FuTex 4.1).
    """
    lower = {name.lower(): number for name, number in classes.items()}
    other = next((lower[name] for name in CONTRADICTION if name in lower), None)
    return (lower[ENTAILMENT], other) if ENTAILMENT in lower and other is not None else None


def _with_cls(architecture: Architecture) -> Architecture:
    return replace(architecture, modules=("Transformer", "Pooling"), paths=(), pooling="cls")


def _head(weights: Mapping[str, Floats], config: Mapping[str, Any]) -> list[Map] | None:
    """The pooler and the classifier of a BertForSequenceClassification; None where they are not there."""
    names = [f"{layer}.{part}" for layer in ("bert.pooler.dense", "classifier") for part in ("weight", "bias")]
    if any(name not in weights for name in names):
        return None
    pooler, shift, classifier, bias = (weights[name] for name in names)
    found = {str(name): int(number) for number, name in (config.get("id2label") or {}).items()}
    if classes := of_inference(found):
        classifier, bias = (part[[classes[0]]] - part[[classes[1]]] for part in (classifier, bias))
    return [linear(pooler, shift, tanh=True), linear(classifier, bias)]
