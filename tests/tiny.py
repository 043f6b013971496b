"""A tiny random BERT in the sentence-transformers format, for tests: written in milliseconds, no torch needed."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

DIM, LAYERS, HEADS, INNER, POSITIONS = 16, 2, 2, 32, 128

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    *("bee", "bees", "wasp", "honey", "flower", "wing", "market"),
    *("stock", "money", "bank", "river", "water", "stone", "rain"),
)
_CHARACTERS = [*string.ascii_lowercase, *string.digits, *string.punctuation]
VOCABULARY = [*_SPECIAL, *WORDS, *_CHARACTERS, *(f"##{character}" for character in _CHARACTERS)]


def tiny_encoder(
    folder: Path,
    *,
    seed: int = 0,
    pooling: Literal["cls", "mean"] = "mean",
    max_length: int = 64,
    positions: int = POSITIONS,
) -> Path:
    """Write an encoder into a new `folder` and return it.

    A few words are tokens, any other word is spelled; texts with the same words are near. Each seed has its weights.
    """
    files = {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
        "sentence_bert_config.json": {"max_seq_length": max_length, "do_lower_case": False},
        "1_Pooling/config.json": {
            "word_embedding_dimension": DIM,
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
        },
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_act": "gelu",
            "hidden_size": DIM,
            "intermediate_size": INNER,
            "num_attention_heads": HEADS,
            "num_hidden_layers": LAYERS,
            "max_position_embeddings": positions,
            "type_vocab_size": 2,
            "vocab_size": len(VOCABULARY),
            "pad_token_id": 0,
            "layer_norm_eps": 1e-12,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": True,
            "model_max_length": positions,
        },
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    _tokenizer().save(str(folder / "tokenizer.json"))
    save_file(_weights(np.random.default_rng(seed), positions), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _tokenizer() -> Tokenizer:
    tokens = {token: i for i, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(WordPiece(tokens, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    marks = [(mark, tokens[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    tokenizer.add_special_tokens(_SPECIAL)
    return tokenizer


def _weights(rng: np.random.Generator, positions: int) -> dict[str, NDArray[Any]]:
    def normal(scale: float, *shape: int) -> NDArray[np.float32]:
        return rng.normal(0, scale, shape).astype(np.float32)

    def linear(name: str, outputs: int, inputs: int) -> dict[str, NDArray[np.float32]]:
        return {f"{name}.weight": normal(0.2, outputs, inputs), f"{name}.bias": normal(0.1, outputs)}

    def norm(name: str) -> dict[str, NDArray[np.float32]]:
        return {f"{name}.weight": 1 + normal(0.1, DIM), f"{name}.bias": normal(0.1, DIM)}

    weights: dict[str, NDArray[Any]] = {
        "embeddings.word_embeddings.weight": normal(1, len(VOCABULARY), DIM),
        "embeddings.position_embeddings.weight": normal(0.1, positions, DIM),
        "embeddings.token_type_embeddings.weight": normal(0.1, 2, DIM),
        **norm("embeddings.LayerNorm"),
        **linear("pooler.dense", DIM, DIM),
    }
    for layer in (f"encoder.layer.{i}" for i in range(LAYERS)):
        for part in ("query", "key", "value"):
            weights |= linear(f"{layer}.attention.self.{part}", DIM, DIM)
        weights |= linear(f"{layer}.attention.output.dense", DIM, DIM) | norm(f"{layer}.attention.output.LayerNorm")
        weights |= linear(f"{layer}.intermediate.dense", INNER, DIM) | linear(f"{layer}.output.dense", DIM, INNER)
        weights |= norm(f"{layer}.output.LayerNorm")
    return weights
