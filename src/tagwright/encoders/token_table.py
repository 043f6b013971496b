"""Compute static encoders without torch, which takes a second to import."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagwright.encoders.architecture import Architecture, read_modules
from tagwright.encoders.layers import Map, apply_layers, read_layers, read_tensors
from tagwright.encoders.prompts import NONE, Prompts, Role
from tagwright.encoders.tokens import read_tokenizer, tokenizer_of
from tagwright.errors import ModelError
from tagwright.types import Floats

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenTable:
    """tokenizer: without padding, not changed later. table: (tokens, dim) float32. after: maps of means."""

    def __init__(self, tokenizer: Tokenizer, table: Floats, prompts: Prompts = NONE, after: Sequence[Map] = ()) -> None:
        self.tokenizer, self.table, self.prompts, self.after = tokenizer, table, prompts, after
        self._tokenize = tokenizer_of(tokenizer)
        self.dim = apply_layers(after, np.zeros((1, table.shape[1]), np.float32)).shape[1]

    @classmethod
    def read(cls, folder: Path, architecture: Architecture) -> TokenTable | None:
        """Read a static encoder in the sentence-transformers format; None if its tensors have other names or formats.

        Raises ModelError when its files are damaged.
        """
        place = folder / read_modules(folder)[0][1]
        weights, tokens = place / "model.safetensors", place / "tokenizer.json"
        if not weights.is_file() or not tokens.is_file():
            return None
        tensors = read_tensors(weights)
        if list(tensors) != ["embedding.weight"]:
            return None
        after = read_layers(folder, architecture)
        if after is None:
            return None
        return cls(read_tokenizer(tokens), tensors["embedding.weight"], architecture.prompts, after)

    def __deepcopy__(self, _: object) -> TokenTable:
        """Return a table with vectors of its own, to train them; the tokenizer is not changed."""
        return TokenTable(self.tokenizer, self.table.copy(), self.prompts, self.after)

    @property
    def architecture(self) -> Architecture:
        """That of a table without maps of the means."""
        return Architecture(("StaticEmbedding",), {}, "", None, self.prompts)

    def save(self, folder: Path) -> None:
        """Write a table without maps of the means in the sentence-transformers format."""
        from safetensors.numpy import save_file

        folder.mkdir(parents=True, exist_ok=True)
        save_file({"embedding.weight": self.table}, folder / "model.safetensors")
        self.tokenizer.save(str(folder / "tokenizer.json"))
        module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
        settings: dict[str, Any] = {"model_type": "SentenceTransformer", "similarity_fn_name": "cosine"}
        if self.prompts != NONE:
            named = {**self.prompts.by_role, "default": self.prompts.default}
            settings |= {"prompts": named, "default_prompt_name": "default" if self.prompts.default else None}
        for file, content in {"modules.json": [module], "config_sentence_transformers.json": settings}.items():
            (folder / file).write_text(json.dumps(content, indent=2), encoding="utf-8")

    def __call__(
        self, texts: Sequence[str], done: Callable[[int], object] = lambda _: None, role: Role | None = None
    ) -> Floats:
        """(texts, dim) means, zero for a text without tokens. done: told how many texts were encoded since last time.

        role: selects the prompt before the texts. Raises ModelError for a token without a vector.
        """
        prompt, parts = self.prompts.of(role), [np.zeros((0, self.dim), np.float32)]
        for start in range(0, len(texts), 4096):  # whose tokens are in memory at a time
            chunk = [prompt + text for text in texts[start : start + 4096]]
            parts.append(self._means(chunk))
            done(len(chunk))
        return np.concatenate(parts)

    def _means(self, texts: list[str]) -> Floats:
        from scipy.sparse import csr_array

        tokens = self._tokenize(texts)
        if tokens.ids.max(initial=-1) >= len(self.table):  # the product reads whatever lies in memory there
            raise ModelError("the encoder's tokenizer is damaged (it has tokens without a vector); get the model again")
        cells = np.ones(len(tokens.ids), np.float32), tokens.ids.astype(np.int32), np.append(0, tokens.lengths.cumsum())
        vectors: Floats = csr_array(cells, (len(texts), len(self.table))) @ self.table
        vectors /= np.maximum(tokens.lengths, 1)[:, None]
        return apply_layers(self.after, vectors)
