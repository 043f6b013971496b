"""Distil a transformer into a static encoder: one vector a token, averaged over a text."""

from __future__ import annotations

import atexit
import functools
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import numpy as np

from tagwright.core.atomic import writing
from tagwright.core.cache import Cache, user_cache
from tagwright.core.progress import note
from tagwright.core.scratch import scratch_folder
from tagwright.encoders import kernels
from tagwright.encoders.architecture import architecture_of, read_architecture
from tagwright.encoders.bert import Bert
from tagwright.encoders.library import module_class, same_vectors
from tagwright.encoders.model_folder import PACKAGED, STATIC, find
from tagwright.encoders.sentence_transformer import load_model
from tagwright.types import Floats, Longs

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DIM = 256
"Length of a vector, or that of the transformer's if it is shorter."

BATCH = 256
"Tokens encoded together."

KIND = "static encoder"
"Its name in the cache."

VERSION = 1
"Increased when `distil` gives other vectors than before."

_folders = ExitStack()  # of this process, removed when it ends
atexit.register(_folders.close)


def encoder_folder(name: str) -> Path:
    """The folder of the encoder called `name`, which may be "static". Raises ModelError as `find` and `distil` do."""
    return distilled() if name == STATIC else find(name)


def distilled() -> Path:
    """A folder with `distil()`, for this process: others may empty the cache, in which it is kept between processes.

    Raises ModelError as `distil` does, TagwrightError when no temporary folder can be written.
    """
    return distilled_in(user_cache())


@functools.cache
def distilled_in(cache: Cache) -> Path:
    """The same in a given cache."""
    folder, key = _folders.enter_context(scratch_folder()), str(VERSION).encode()
    if packed := cache.get(KIND, [key]).get(key):
        with writing(folder), ZipFile(BytesIO(packed)) as archive:
            archive.extractall(folder)
    else:
        note(f"distilling a static encoder from {PACKAGED}, which takes some ten seconds; it is kept for later runs")
        distil().save(str(folder), create_model_card=False)
        cache.put(KIND, {key: _packed(folder)})
    return folder


def distil(name: str = PACKAGED) -> SentenceTransformer:
    """A static encoder from the encoder called `name`, with its tokenizer, in the sentence-transformers format.

    As model2vec does it (Tulkens and van Dongen, 2024): the transformer encodes each token alone; the vectors are
    centred and reduced to their main directions, and weighted by how rare the token is. Always the same for the same
    encoder and machine. Special and unused tokens get zeros. Raises ModelError as `BiEncoder.load` does.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

    folder = find(name)
    model = load_model(folder, read_architecture(folder)).to(kernels.best_device()).eval()
    used = _used_tokens(model)
    vectors = main_directions(_encode(model, used), DIM) * rarity(len(used))[:, None]
    table = np.zeros((len(model.tokenizer), vectors.shape[1]), np.float32)
    table[used] = vectors
    tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    return SentenceTransformer(
        modules=[module_class("StaticEmbedding")(tokenizer, torch.from_numpy(table))], device="cpu"
    )


def main_directions(vectors: Floats, dim: int) -> Floats:
    """(n, at most dim): centred vectors in the coordinates of their main directions (principal components).

    The sign of a direction is chosen so that its largest coordinate is positive.

    Points on a line have one direction, here (3, 4) / 5:

    >>> main_directions(np.array([[0, 0], [3, 4], [9, 12]], np.float32), 1).round(3).tolist()
    [[-6.666999816894531], [-1.6670000553131104], [8.333000183105469]]
    """
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    found = centred @ directions[:, ::-1][:, :dim]
    largest = found[np.abs(found).argmax(0), np.arange(found.shape[1])]
    signed: Floats = (found * np.sign(largest)).astype(np.float32)
    return signed


def rarity(tokens: int, a: float = 1e-4) -> Floats:
    """(tokens,) the weight a / (a + p) of each token (Arora et al., 2017), tokens being sorted by frequency.

    Frequencies p follow Zipf's law, 1 / rank, the first rank being 2 as in model2vec: of two tokens, 3/5 and 2/5.

    >>> rarity(2, a=0.4).round(3).tolist()
    [0.4000000059604645, 0.5]
    """
    frequency = 1 / np.arange(2, tokens + 2)
    weights: Floats = (a / (a + frequency / frequency.sum())).astype(np.float32)
    return weights


def _packed(folder: Path) -> bytes:
    """The files of a folder as a ZIP archive, not compressed."""
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return packed.getvalue()


def _used_tokens(model: SentenceTransformer) -> Longs:
    """Ids of ordinary tokens; in the vocabularies of transformers, frequent tokens come first."""
    special = set(model.tokenizer.all_special_ids)
    names = model.tokenizer.convert_ids_to_tokens(list(range(len(model.tokenizer))))
    unused = {i for i, token in enumerate(names) if token is None or token.startswith("[unused")}
    return np.array([i for i in range(len(names)) if i not in special | unused], np.int64)


def _encode(model: SentenceTransformer, tokens: Longs) -> Floats:
    """(tokens, dim) the transformer's output for each token alone, between the special tokens of a text."""
    import torch

    empty = model.tokenizer("")["input_ids"]
    middle = (len(empty) + 1) // 2
    texts = np.empty((len(tokens), len(empty) + 1), np.int64)
    texts[:, :middle], texts[:, middle], texts[:, middle + 1 :] = empty[:middle], tokens, empty[middle:]
    forward = _forward(model)
    with kernels.workers(model.device) as each:
        batches = torch.split(torch.from_numpy(texts).to(model.device), BATCH)
        vectors: Floats = torch.cat(list(each(forward, batches))).float().cpu().numpy()
    return vectors


def _forward(model: SentenceTransformer) -> kernels.Map:
    """(texts, tokens) ids, all texts of the same length, to (texts, dim) vectors."""
    import torch

    architecture = architecture_of(model)
    own = Bert.of(model, architecture) if architecture.is_bert else None
    if own and same_vectors(own, model, "bfloat16"):
        return torch.inference_mode()(own.forward)

    @torch.inference_mode()
    def forward(ids: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = model({"input_ids": ids, "attention_mask": torch.ones_like(ids)})["sentence_embedding"]
        return vectors

    return forward
