"""Encode texts by sentence-transformers: on GPUs, where OpenVINO is missing, and models of other architectures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagwright.core.atomic import delete
from tagwright.core.extras import require
from tagwright.encoders.architecture import Architecture, check_named, read_architecture
from tagwright.encoders.compiled import Computed
from tagwright.encoders.device import best_device
from tagwright.encoders.exported import write_graph
from tagwright.encoders.library import TEXT, is_module, same_vectors, say_general
from tagwright.encoders.model_folder import EXPORTED
from tagwright.encoders.prompts import NONE, Prompts, Role
from tagwright.encoders.tokens import check_growth
from tagwright.encoders.transformer import Transformer
from tagwright.errors import ModelError, one_line_of
from tagwright.types import Floats

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_BATCH = 64


class General:
    """Encodes texts with `SentenceTransformer.encode`, in batches of texts of about the same length.

    A lock admits one thread at a time: the tokenizer is set up anew for each batch, which fails while it is in use.
    """

    def __init__(self, model: SentenceTransformer, precision: Computed, prompts: Prompts = NONE) -> None:
        self.model, self.halved, self.prompts = model, precision == "bfloat16", prompts
        self.dim, self._lock = int(model.get_embedding_dimension() or 0), threading.Lock()

    def __call__(self, texts: Sequence[str], done: Callable[[int], object], role: Role | None = None) -> Floats:
        """(texts, dim) vectors of any norm. done: told how many texts have been encoded since the last time.

        role: which prompt is put before the texts, and which way they take through a model that has two.
        """
        import torch

        by_role = {"query": self.model.encode_query, "document": self.model.encode_document}
        encode, prompt = by_role[role] if role else self.model.encode, self.prompts.of(role)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors = np.empty((len(texts), self.dim), np.float32)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            with self._lock, torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.halved):
                chunk = [texts[i] for i in batch]
                encoded = encode(chunk, prompt=prompt, batch_size=_BATCH, show_progress_bar=False)
            vectors[batch] = encoded
            done(len(batch))
        return vectors


def load_model(folder: Path, architecture: Architecture) -> SentenceTransformer:
    """Load from local files, safetensors only, no code of the model's own; with these prompts, pooling, max_length."""
    require(f"the encoder {folder}", "torch", "sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    check_named(folder)
    try:
        model = SentenceTransformer(
            str(folder),
            device=str(best_device()),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except Exception as error:  # any error that four libraries may raise for a damaged file
        raise ModelError(f"{folder}: cannot be loaded as a sentence-transformers model ({error})") from error
    for module in model.modules():  # one that has two ways may have two tokenizers
        check_growth(getattr(module, "tokenizer", None), folder)
    if architecture.max_length is not None:
        model.max_seq_length = architecture.max_length
    model.prompts = {**model.prompts, **architecture.prompts.by_role}
    for module in model:
        if is_module(module, "Pooling") and architecture.pooling in {"cls", "mean"}:
            module.pooling_mode = architecture.pooling  # type: ignore[assignment]
    return model


def save_graph(model: SentenceTransformer, folder: Path) -> None:
    """Write the graph of a transformer into the folder where the model was saved: read there, it needs no torch.

    Where it cannot be traced or gives other vectors, a line is logged and there is none.
    """
    file = folder / EXPORTED[0][0]
    try:
        write_graph(model.transformers_model, file)
        own = Transformer.read_exported(folder, read_architecture(folder), "float32")
        # A long text, as what was traced with a short one might hold only for that.
        is_right = own is not None and same_vectors(own, model, "float32", " ".join([TEXT] * 30))
    except Exception as error:  # any error that three libraries may raise for what they cannot trace
        say_general(one_line_of(error))
        is_right = False
    if not is_right:
        delete(file.parent, parts=[Path(name).name for name in EXPORTED[0]])


def transformer_of(model: SentenceTransformer, architecture: Architecture, precision: Computed) -> Transformer | None:
    """A copy of a model in memory that needs no torch; None where it has other parts, or gives other vectors."""
    try:
        own = Transformer.of(model, architecture, precision)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        say_general(repr(error))
        return None
    return own if same_vectors(own, model, precision) else None
