"""BiEncoder: texts in, unit vectors out, whichever model computes them, and no text twice."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from tagwright.encoders import int8
from tagwright.encoders.architecture import Architecture, architecture_of, read_architecture
from tagwright.encoders.bert import Bert
from tagwright.encoders.cache import EmbeddingCache
from tagwright.encoders.fluency import fluencies
from tagwright.encoders.kernels import chosen_device, on_device
from tagwright.encoders.library import same_vectors
from tagwright.encoders.packaged import PACKAGED, digest, find
from tagwright.encoders.precision import Computed, Precision, resolve
from tagwright.encoders.sentence_transformer import General, load_model
from tagwright.encoders.sketch import Sketch
from tagwright.errors import ConfigError, ModelError
from tagwright.progress import bar
from tagwright.types import Floats, Mask

if TYPE_CHECKING:
    import tokenizers
    from sentence_transformers import SentenceTransformer

log = logging.getLogger(__name__)

_VERSION = 2  # rises when an unchanged model gives other vectors than before
_CHUNK = 4096  # texts between two writes to the cache: what a killed run can lose


class Forward(Protocol):
    """What computes vectors of texts: `bert.Bert` where it can, `general.General` for any other model."""

    def __call__(self, texts: Sequence[str], done: Callable[[int], object]) -> Floats:
        """(texts, dim) vectors of any norm; `done` is told how many texts were encoded since the last time."""
        ...


class BiEncoder:
    """Turns texts into vectors that are near where the texts mean the same. Make one with `load` or `of`.

    name: what it was loaded as. cache: the vectors of earlier runs; None: every text is computed. asked: the precision
    that was asked for. precision: the one that this machine computes in.
    """

    def __init__(
        self, name: str, source: Path | SentenceTransformer, architecture: Architecture, precision: Precision = "auto"
    ) -> None:
        self.name, self._source, self._architecture, self.asked = name, source, architecture, precision
        self.cached, self._device = False, chosen_device()
        self._found = _state(source) if isinstance(source, Path) else None

    @classmethod
    def load(
        cls,
        name: str = PACKAGED,
        *,
        max_length: int | None = None,
        pooling: Literal["cls", "mean"] | None = None,
        precision: Precision = "auto",
        cached: bool = True,
    ) -> BiEncoder:
        """The packaged encoder ("minilm"), a folder in the sentence-transformers format, or a Hugging Face id.

        max_length (tokens), pooling: instead of the model's own. precision: what it is computed in; auto: what is
        fastest here, see `precision.resolve`. cached: keep vectors for later runs. Nothing is downloaded, and weights
        are read from safetensors only. Raises ModelError when there is no such encoder or its files are damaged,
        ConfigError when it cannot have this max_length, pooling or precision.
        """
        folder = find(name)
        own = read_architecture(folder)
        positions = own.config.get("max_position_embeddings", max_length)
        if max_length is not None and not 3 <= max_length <= positions:
            raise ConfigError(f"max_length is {max_length}; encoder {name} reads from 3 to {positions} tokens")
        if pooling is not None and "Pooling" not in own.modules:
            raise ConfigError(f"pooling is {pooling!r}; encoder {name} has nothing to pool, leave it out")
        chosen = replace(own, max_length=max_length or own.max_length, pooling=pooling or own.pooling)
        encoder = cls(name, folder, chosen, precision)
        if precision != "auto":
            _ = encoder.precision  # refused now, not when the first text is encoded
        encoder.cached = cached
        return encoder

    @classmethod
    def load_saved(cls, name: str, record: Any, *, cached: bool = True) -> BiEncoder:
        """Load what a saved tagger uses, in the precision that was asked for: see `precision_record`.

        record: what the tagger's manifest says, None in older ones. The log says so where this machine computes another
        precision. Raises ModelError as `load` does, and where this machine cannot compute what was asked for.
        """
        try:
            asked, computed = (record or {}).get("asked", "auto"), (record or {}).get("computed", "")
            encoder = cls.load(name, precision=asked, cached=cached)
        except (AttributeError, ConfigError) as error:
            raise ModelError(f"{name}: cannot be loaded ({error}); save the model on this machine") from None
        if computed and computed != encoder.precision:
            log.info("%s: labels were encoded in %s, documents are in %s", name, computed, encoder.precision)
        return encoder

    @classmethod
    def of(cls, model: SentenceTransformer, name: str = "in memory") -> BiEncoder:
        """An encoder with the weights that `model` has when the first text is encoded; not cached."""
        return cls(name, model, architecture_of(model))

    def encode(self, texts: Sequence[str], *, progress: str = "", keep: bool = True) -> Floats:
        """(texts, dim) unit vectors (zero where a static encoder knows no word), the same computed or kept.

        progress: the title of a progress bar on stderr; without one there is none. keep: whether later runs find what
        is computed now in the cache.
        """
        unique = list(dict.fromkeys(texts))
        vectors, known = self._look_up(unique)
        missing = np.flatnonzero(~known)
        with bar(progress, len(missing)) as done:
            for start in range(0, len(missing), _CHUNK):
                rows = missing[start : start + _CHUNK]
                chunk = [unique[row] for row in rows]
                # The cache keeps float16. Always rounding to it makes kept and computed vectors the same.
                vectors[rows] = unit(self._forward(chunk, done)).astype(np.float16)
                if self.cache and keep:
                    self.cache.put(chunk, vectors[rows])
        row = {text: i for i, text in enumerate(unique)}
        return unit(vectors[[row[text] for text in texts]])

    def encode_raw(self, texts: Sequence[str], *, progress: str = "") -> Floats:
        """(texts, dim) vectors of whatever length the model gives them, computed anew: for inner products."""
        with bar(progress, len(texts)) as done:
            return self._forward(texts, done) if texts else np.zeros((0, self.dim), np.float32)

    @cached_property
    def precision(self) -> Computed:
        """What vectors are computed in. A static encoder adds up vectors: it has nothing to gain from fewer bits."""
        static = "StaticEmbedding" in self._architecture.modules
        with on_device(self._device):
            found = "float32" if static else resolve(self.asked, quantisable=self._architecture.is_bert)
        log.info("encoder %s computes in %s (precision %s)", self.name, found, self.asked)
        return found

    @property
    def precision_record(self) -> dict[str, str]:
        """What a saved tagger says of it: the precision that was asked for, and the one that was computed."""
        return {"asked": self.asked, "computed": self.precision}

    @property
    def dim(self) -> int:
        """Length of a vector."""
        if self._architecture.is_bert:
            return int(self._architecture.config["hidden_size"])
        return int(self.model.get_embedding_dimension() or 0)

    @property
    def max_length(self) -> int | None:
        """Tokens that are read of each text; None: all."""
        return self._architecture.max_length

    @cached_property
    def cache(self) -> EmbeddingCache | None:
        """The vectors of earlier runs, if they are kept."""
        return EmbeddingCache(self.fingerprint, self.dim) if self.cached else None

    @cached_property
    def fingerprint(self) -> str:
        """Differs between encoders that give different vectors: weights, tokenizer, pooling, length, precision."""
        # How far int8 rounds activations depends on the processor.
        precision = (self.precision, int8.levels() if self.precision == "int8" else 0)
        choices = (_VERSION, self._architecture.pooling, self.max_length, precision)
        self._check_unchanged()
        content = hashlib.blake2b(repr(choices).encode(), digest_size=16)
        if isinstance(self._source, Path):
            for file in _files(self._source):
                if file.stat().st_size:
                    content.update(f"{file.relative_to(self._source).as_posix()} {digest(file)} ".encode())
        else:
            content.update(repr(self._source.tokenizer).encode())
            for name, weights in sorted(self._source.state_dict().items()):
                content.update(name.encode() + weights.cpu().numpy().tobytes())
        return content.hexdigest()

    def fluency(self, texts: Sequence[str]) -> Floats:
        """(texts,) letters per token in each text: see `fluency.fluency`; NaN for a text without a word that tells."""
        if self._tokenizer is None:
            return np.full(len(texts), np.nan, np.float32)
        return fluencies(self._tokenizer, texts)

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer | None:
        """None for a model whose tokenizer is of another kind."""
        import tokenizers

        file = self._source / "tokenizer.json" if isinstance(self._source, Path) else None
        if file and file.is_file():
            return tokenizers.Tokenizer.from_file(str(file))
        found = getattr(self.model.tokenizer, "backend_tokenizer", self.model.tokenizer)
        return found if isinstance(found, tokenizers.Tokenizer) else None

    @cached_property
    def model(self) -> SentenceTransformer:
        """The sentence-transformers model, loaded when asked for. After training it, make an encoder `of` it."""
        self._check_unchanged()
        with on_device(self._device):
            return load_model(self._source, self._architecture) if isinstance(self._source, Path) else self._source

    def save(self, folder: Path | str) -> None:
        """Write in the sentence-transformers format, which any tool of that ecosystem loads."""
        _ = self._forward, self.cache  # the folder that it was loaded from may be what is replaced
        self.model.save(str(folder), create_model_card=False)

    def known(self, texts: Sequence[str]) -> tuple[Floats, Mask]:
        """(texts, dim) unit vectors and (texts,) which of them were computed before and kept; the others are zero."""
        unique = list(dict.fromkeys(texts))
        row = {text: i for i, text in enumerate(unique)}
        rows = np.fromiter(map(row.__getitem__, texts), np.int64, len(texts))
        vectors, known = self._look_up(unique)
        return unit(vectors[rows]), known[rows]

    def sketch(self) -> Sketch | None:
        """Rough vectors without computing a layer; None for what is no transformer in a folder."""
        return Sketch.read(self._source) if isinstance(self._source, Path) and self._architecture.is_bert else None

    def _look_up(self, texts: Sequence[str]) -> tuple[Floats, Mask]:
        if self.cache:
            return self.cache.get(texts)
        return np.zeros((len(texts), self.dim), np.float32), np.zeros(len(texts), np.bool_)

    def _check_unchanged(self) -> None:
        """Raise ModelError if the folder holds other files than when this was made: label vectors may be of those."""
        if isinstance(self._source, Path) and _state(self._source) != self._found:
            raise ModelError(f"{self._source}: was replaced after it was loaded; load it, and its tagger, again")

    @cached_property
    def _forward(self) -> Forward:
        self._check_unchanged()
        with on_device(self._device):
            return self._made_forward()

    def _made_forward(self) -> Forward:
        if not self._architecture.is_bert:
            return General(self.model, self.precision)
        if not isinstance(self._source, Path):
            own = Bert.of(self._source, self._architecture, self.precision)
            agrees = own and same_vectors(own, self._source, self.precision)
            return own if own and agrees else General(self._source, self.precision)
        bert = Bert.read(self._source, self._architecture, self.precision)
        return bert or General(self.model, self.precision)


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of each file that vectors depend on."""
    stats = ((file, file.stat()) for file in _files(folder))
    return {file.relative_to(folder).as_posix(): (stat.st_size, stat.st_mtime_ns) for file, stat in stats}


def _files(folder: Path) -> list[Path]:
    kinds = {".json", ".txt", ".model", ".safetensors"}
    return [file for file in sorted(folder.rglob("*")) if file.suffix in kinds and file.is_file()]


def unit(vectors: Floats) -> Floats:
    """Vectors (n, dim) scaled to length 1, in place; zero stays zero.

    >>> unit(np.array([[0, 2], [0, 0]], np.float32)).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return vectors
