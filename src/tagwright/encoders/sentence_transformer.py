"""Models of sentence-transformers in memory: on GPUs, where OpenVINO is missing, and of other architectures."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tagwright.core.extras import require
from tagwright.encoders.architecture import Architecture, check_named
from tagwright.encoders.compiled import Computed
from tagwright.encoders.device import best_device, feed, group_lengths
from tagwright.encoders.prompts import NONE, Prompts, Role
from tagwright.encoders.tokens import check_growth, without_limits
from tagwright.errors import ModelError
from tagwright.types import Floats

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer

T = TypeVar("T")

_log = logging.getLogger(__name__)


class General:
    """Encodes texts with `SentenceTransformer.encode`, in batches of texts of about the same length.

    A lock admits one thread at a time: the tokenizer is set up anew for each batch, which fails while it is in use.
    """

    def __init__(self, model: SentenceTransformer, precision: Computed, prompts: Prompts = NONE) -> None:
        self.model, self.halved, self.prompts = model, precision == "bfloat16", prompts
        self.dim, self._lock = int(model.get_embedding_dimension() or 0), threading.Lock()

    @property
    def tokenizer(self) -> object:
        """A copy that encoding does not set up anew; of a model without one of the tokenizers library its own."""
        own = getattr(self.model.tokenizer, "backend_tokenizer", self.model.tokenizer)
        return without_limits(own) if hasattr(own, "no_truncation") else own

    def __call__(self, texts: Sequence[str], done: Callable[[int], object], role: Role | None = None) -> Floats:
        """(texts, dim) vectors of any norm. done: told how many texts have been encoded since the last time.

        role: which prompt is put before the texts, and which way they take through a model that has two.
        """
        import torch

        by_role = {"query": self.model.encode_query, "document": self.model.encode_document}
        encode, prompt = by_role[role] if role else self.model.encode, self.prompts.of(role)
        order, longest = sorted(range(len(texts)), key=lambda i: len(texts[i])), self.model.max_seq_length or 512
        lengths = [min(len(texts[i]) + 2, longest) for i in order]  # a token is a character or more
        vectors: list[torch.Tensor] = []
        for part in group_lengths(lengths, 64, feed(self.model.device).encoded):
            with self._lock, torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.halved):
                chunk = [texts[i] for i in order[part]]
                options: Any = {"batch_size": len(chunk), "show_progress_bar": False, "convert_to_tensor": True}
                vectors.append(encode(chunk, prompt=prompt, **options).float())
            done(len(chunk))
        found = np.empty((len(texts), self.dim), np.float32)
        if vectors:
            found[order] = torch.cat(vectors).cpu().numpy()  # only here the processor waits for a GPU
        return found


def load_model(folder: Path, architecture: Architecture) -> SentenceTransformer:
    """Load the encoder of a folder as `load_library` does, with these prompts, pooling, max_length."""
    model: SentenceTransformer = load_library(folder)
    from sentence_transformers.sentence_transformer.modules import Pooling

    if architecture.max_length is not None:
        model.max_seq_length = architecture.max_length
    model.prompts = {**model.prompts, **architecture.prompts.by_role}
    for module in model:
        if isinstance(module, Pooling) and architecture.pooling in {"cls", "mean"}:
            module.pooling_mode = architecture.pooling
    return model


def load_library(folder: Path, *, pairs: bool = False) -> Any:
    """The SentenceTransformer in a folder, or for pairs the CrossEncoder.

    From local files, safetensors only, no code of the model's own. Raises ModelError when a file is damaged, or names
    what it must not.
    """
    kind = "cross-encoder" if pairs else "encoder"
    require(f"the {kind} {folder}", "torch", "sentence_transformers")
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    check_named(folder)
    library: Any = CrossEncoder if pairs else SentenceTransformer
    try:
        model: SentenceTransformer | CrossEncoder = library(
            str(folder),
            device=str(best_device()),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
        for module in model.modules():  # one that has two ways may have two tokenizers
            check_growth(getattr(module, "tokenizer", None), folder)
        if isinstance(model, CrossEncoder):
            model.predict([("a", "b")], show_progress_bar=False)  # shows unusable settings now
    except ModelError:
        raise
    except Exception as error:  # any error that four libraries may raise for a damaged file
        name = kind if pairs else "sentence-transformers model"
        raise ModelError(f"{folder}: cannot be loaded as a {name} ({error})") from error
    return model


def write_model(model: SentenceTransformer | CrossEncoder, folder: Path) -> None:
    """Write a model in the format of sentence-transformers, without a card and without the library's progress bars."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    model.save(str(folder), create_model_card=False)


def say_general(problem: object, file: Path | None = None) -> None:
    """Log that a model is left to its library, and why. file: the one with the problem, named in full."""
    reason = " ".join(str(problem).split())[:200]
    where = f"{file}: " if file else ""
    _log.warning("the model is computed by sentence-transformers, more slowly than by Tagwright: %s%s", where, reason)


def cached_once(function: Callable[[Any], T]) -> cached_property[T]:
    """`functools.cached_property` with a lock, which that one lost in Python 3.12: a model is not loaded twice."""
    name, lock = function.__name__, threading.RLock()

    @wraps(function)
    def computed(instance: Any) -> T:
        with lock:  # of those that asked at the same time, one computes it
            if name not in vars(instance):
                vars(instance)[name] = function(instance)
            value: T = vars(instance)[name]
        return value

    return cached_property(computed)
