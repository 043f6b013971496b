"""`BiEncoder`: encode texts as unit vectors with any model, each text once."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tagwright.core.atomic import delete, scratch_folder
from tagwright.core.progress import bar
from tagwright.encoders.architecture import Architecture, architecture_of, read_architecture
from tagwright.encoders.cache import EmbeddingCache, keeps_documents
from tagwright.encoders.compiled import Computed, is_installed
from tagwright.encoders.device import Precision, current_settings, model_settings, uses_gpu
from tagwright.encoders.graphs import write_graph
from tagwright.encoders.layers import normalize_in_place
from tagwright.encoders.model_folder import EXPORTED, PACKAGED, copy_model, digest, model_files
from tagwright.encoders.precision import resolve
from tagwright.encoders.prompts import Role
from tagwright.encoders.sentence_transformer import General, cached_once, load_model, say_general, write_model
from tagwright.encoders.static import encoder_folder, read_sketch
from tagwright.encoders.token_table import TokenTable
from tagwright.encoders.tokens import Fertility, fertility_of, read_tokenizer
from tagwright.encoders.transformer import Transformer
from tagwright.errors import ConfigError, ModelError, one_line_of
from tagwright.registry import encoder_module
from tagwright.text.batch import Numbered
from tagwright.types import Floats, Longs, Mask

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

EncoderModel: TypeAlias = "SentenceTransformer | TokenTable"
"An encoder in memory, whose weights can be trained in place."

_log = logging.getLogger(__name__)


Forward: TypeAlias = Transformer | TokenTable | General
"What computes vectors, of any norm; general for models that nothing else can read."


class BiEncoder:
    """Turns texts into vectors that are close for texts of similar meaning. Make one with `load` or `of`.

    name: the name it was loaded by. cache: the vectors of earlier runs; None: every text is computed. asked: the
    requested precision. precision: the one used on this machine. saved: whether it comes from a saved tagger.
    """

    def __init__(
        self, name: str, source: Path | EncoderModel, architecture: Architecture, precision: Precision = "auto"
    ) -> None:
        self.name, self._source, self._architecture, self.asked = name, source, architecture, precision
        self.cached, self.saved, self._device = False, False, current_settings().device
        self._found = _state(source) if isinstance(source, Path) else None

    @classmethod
    def load(
        cls,
        name: str = PACKAGED,
        *,
        max_length: int | None = None,
        pooling: Literal["cls", "mean"] | None = None,
        prompts: Mapping[str, str] | None = None,
        precision: Precision = "auto",
        cached: bool = True,
    ) -> BiEncoder:
        """The packaged encoder ("minilm"), "static", a folder as sentence-transformers saves it, or a Hugging Face id.

        max_length (tokens), pooling, prompts ("query" for texts to be tagged, "document" for labels): instead of the
        model's own. precision: its number format; auto: the fastest here, see `precision.resolve`. cached: keep vectors
        for later runs. A Hugging Face model that is not on this machine is fetched, see `model_folder.find`; weights
        are read from safetensors only. Raises ModelError when there is no such encoder or its files are damaged,
        ConfigError when it cannot have this max_length, pooling, precision or these prompts.
        """
        folder = encoder_folder(name)
        own = read_architecture(folder)
        positions = own.config.get("max_position_embeddings", max_length)
        if max_length is not None and not 3 <= max_length <= positions:
            raise ConfigError(f"max_length is {max_length}; encoder {name} reads from 3 to {positions} tokens")
        if pooling is not None and "Pooling" not in own.modules:
            raise ConfigError(f"pooling is {pooling!r}; encoder {name} has nothing to pool, leave it out")
        chosen = replace(
            own,
            max_length=max_length or own.max_length,
            pooling=pooling or own.pooling,
            prompts=own.prompts.chosen(prompts or {}),
        )
        encoder = cls(name, folder, chosen, precision)
        if precision != "auto":
            _ = encoder.precision  # fail now, not when the first text is encoded
        encoder.cached = cached
        return encoder

    @classmethod
    def load_saved(cls, name: str, record: Any, *, cached: bool = True) -> BiEncoder:
        """Load what a saved tagger uses, with the prompts and in the precision that were asked for: see `record`.

        name: the packaged encoder or a folder; no other is fetched. record: what the tagger's manifest says; None for
        an encoder without one. Raises ModelError as `load` does, and if this machine does not support the request.
        """
        if name != PACKAGED and not Path(name).is_dir():
            raise ModelError(f"{name}: is missing; save the model again")
        record = {} if record is None else record
        try:
            asked = current_settings().precision or record.get("asked", "auto")
            encoder = cls.load(name, precision=asked, prompts=record.get("prompts", {}), cached=cached)
            encoder.saved = True
        except (AttributeError, ConfigError) as error:
            raise ModelError(f"{name}: cannot be loaded ({error}); save the model on this machine") from None
        return encoder

    @classmethod
    def of(cls, model: EncoderModel, name: str = "in memory") -> BiEncoder:
        """An encoder with the weights that `model` has when the first text is encoded; not cached."""
        return cls(name, model, model.architecture if isinstance(model, TokenTable) else architecture_of(model))

    def encode(self, texts: Sequence[str], *, role: Role | None = None, progress: str = "") -> Floats:
        """(texts, dim) unit vectors (zero where a static encoder knows no word), the same computed or kept.

        role: whether they are texts to be tagged ("query") or labels ("document"), each with its prompt. progress: the
        title of a progress bar on stderr; without one there is none. New vectors are cached for later runs, those of
        texts to be tagged only if `cache.keeps_documents` says so.
        """
        unique, rows = _find_distinct(texts)
        vectors, known = self._look_up(unique, role)
        missing = np.flatnonzero(~known)
        with bar(progress, len(missing)) as done:
            for start in range(0, len(missing), 4096):  # an interrupted run loses at most as many
                new = missing[start : start + 4096]
                chunk = [unique[row] for row in new]
                # The cache keeps float16. Always rounding to it makes kept and computed vectors the same.
                vectors[new] = normalize_in_place(self._computed(chunk, done, role)).astype(np.float16)
                if self.cache and (role != "query" or keeps_documents()):
                    self.cache.put(chunk, vectors[new], self._key(role))
        normalize_in_place(vectors)
        return vectors if len(unique) == len(texts) else vectors[rows]

    def encode_raw(self, texts: Sequence[str], *, role: Role | None = None, progress: str = "") -> Floats:
        """(texts, dim) vectors of the model's own norm, without the cache: for inner products."""
        with bar(progress, len(texts)) as done:
            return self._computed(texts, done, role) if texts else np.zeros((0, self.dim), np.float32)

    @cached_once
    def precision(self) -> Computed:
        """The number format of the computation. A static encoder gains nothing from fewer bits."""
        with model_settings(device=self._device):
            precision = "float32" if self.is_static else resolve(self.asked, quantisable=self._architecture.is_bert)
        _log.info("encoder %s computes in %s (precision %s)", self.name, precision, self.asked)
        return precision

    @property
    def record(self) -> dict[str, Any]:
        """The record for a saved tagger: requested and used precision, and prompts."""
        return {"asked": self.asked, "computed": self.precision, "prompts": self._architecture.prompts.by_role}

    @property
    def dim(self) -> int:
        """Length of a vector."""
        if self._architecture.is_bert and "Dense" not in self._architecture.modules:
            return int(self._architecture.config["hidden_size"])
        return self._forward.dim

    @property
    def is_static(self) -> bool:
        """Whether a text is encoded by the mean of its tokens' vectors."""
        return self._architecture.is_static

    @property
    def max_length(self) -> int | None:
        """The most tokens of a text; None: no limit."""
        return self._architecture.max_length

    @cached_once
    def cache(self) -> EmbeddingCache | None:
        """The cached vectors of earlier runs, if enabled."""
        return EmbeddingCache(self.fingerprint, self.dim) if self.cached else None

    @cached_once
    def fingerprint(self) -> str:
        """Differs between encoders that give different vectors: weights, tokenizer, pooling, length, precision."""
        version = 4  # increased when an unchanged model gives other vectors than before
        choices = (version, self._architecture.pooling, self.max_length, self.precision)
        self._check_unchanged()
        content = hashlib.blake2b(repr(choices).encode(), digest_size=16)
        if isinstance(self._source, Path):
            for file in model_files(self._source):
                if file.stat().st_size:
                    content.update(f"{file.relative_to(self._source).as_posix()} {digest(file)} ".encode())
        elif isinstance(self._source, TokenTable):
            content.update(self._source.tokenizer.to_str().encode() + self._source.table.tobytes())
        else:
            content.update(repr(self._source.tokenizer).encode())
            for name, weights in sorted(self._source.state_dict().items()):
                content.update(name.encode() + weights.cpu().numpy().tobytes())
        return content.hexdigest()

    def fertility(self, texts: Numbered) -> Floats:
        """(texts,) letters per token in each text: see `tokens.fertility_of`; NaN if unknown."""
        return self._fertility(texts) if self._fertility else np.full(len(texts.ends), np.nan, np.float32)

    @cached_once
    def _fertility(self) -> Fertility | None:
        """None for a model with another kind of tokenizer."""
        import tokenizers

        if isinstance(self._source, Path) and (file := self._source / "tokenizer.json").is_file():
            return fertility_of(read_tokenizer(file))  # without the weights
        tokenizer = self._forward.tokenizer
        return fertility_of(tokenizer) if isinstance(tokenizer, tokenizers.Tokenizer) else None

    @cached_once
    def model(self) -> SentenceTransformer:
        """The sentence-transformers model, loaded when asked for. After training it, make an encoder `of` it."""
        self._check_unchanged()
        with model_settings(device=self._device), scratch_folder() as folder:
            if isinstance(self._source, TokenTable):
                self._source.save(folder)
            elif not isinstance(self._source, Path):
                return self._source
            elif module := encoder_module(self._source):
                module.write_model(self._source, folder)
            else:
                folder = self._source
            return load_model(folder, self._architecture)

    def trainable(self) -> EncoderModel:
        """Return the model to train: of a static encoder its table, which needs no sentence-transformers."""
        if isinstance(self._source, TokenTable):
            return self._source
        if isinstance(self._source, Path) and self._architecture.modules == ("StaticEmbedding",):
            self._check_unchanged()
            if table := TokenTable.read(self._source, self._architecture):
                return table
        return self.model

    def save(self, folder: Path | str) -> None:
        """Write in the sentence-transformers format, which any tool of that ecosystem loads.

        A transformer that is no BERT gets its graph beside it, so that it is read without torch.
        """
        forward, _ = self._forward, self.cache  # its own folder may be the one that is replaced
        source, target = self._source, Path(folder)
        if isinstance(source, TokenTable):
            source.save(target)
        elif (
            isinstance(source, Path)
            and "model" not in vars(self)  # one that was loaded may have been trained since
            and isinstance(forward, TokenTable | Transformer)
            and source.resolve() != target.resolve()
            and self._architecture == read_architecture(source)
        ):
            self._check_unchanged()
            copy_model(source, target)
        else:
            write_model(self.model, target)
            if self._architecture.is_other and is_installed():
                _save_graph(self.model, target)

    def sketch(self) -> TokenTable | None:
        """Rough vectors without computing a layer; None unless the model is a transformer in a folder.

        They are computed without prompts, as one that all labels share does not help a mean of tokens, and of what the
        transformer reads of a text.
        """
        if not isinstance(self._source, Path) or not self._architecture.is_bert or not self.max_length:
            return None
        return read_sketch(self._source, self.max_length)

    def _computed(self, texts: Sequence[str], done: Callable[[int], object], role: Role | None) -> Floats:
        vectors = self._forward(texts, done, role)
        if not np.isfinite(vectors).all():
            problem = "gives vectors that are not finite"
            raise ModelError(f"{self.name}: {problem}; its weights are damaged, or its training diverged")
        return vectors

    def _look_up(self, texts: Sequence[str], role: Role | None) -> tuple[Floats, Mask]:
        if self.cache:
            return self.cache.get(texts, self._key(role))
        return np.zeros((len(texts), self.dim), np.float32), np.zeros(len(texts), np.bool_)

    def _key(self, role: Role | None) -> str:
        """Return the key of a text's vectors: its prompt, and its role where each role has layers of its own."""
        prompt = self._architecture.prompts.of(role)
        return f"{role} {prompt}" if role and "Router" in self._architecture.modules else prompt

    def _check_unchanged(self) -> None:
        """Raise ModelError if the folder has changed since this was made: label vectors may come from its old files."""
        if isinstance(self._source, Path) and _state(self._source) != self._found:
            raise ModelError(f"{self._source}: was replaced after it was loaded; load it, and its tagger, again")

    @cached_once
    def _forward(self) -> Forward:
        """How vectors are computed: without torch where that gives exactly what the model is."""
        self._check_unchanged()
        with model_settings(device=self._device):
            own = self._source if isinstance(self._source, TokenTable) else self._read_own(self._source)
            return own or General(self.model, self.precision, self._architecture.prompts)

    def _read_own(self, source: Path | SentenceTransformer) -> Forward | None:
        """Read what needs no torch from a folder, where a BERT in memory is written for it; None if nothing can."""
        if isinstance(source, Path) and self._architecture.is_token_table:
            return TokenTable.read(source, self._architecture)
        if uses_gpu() or not is_installed():
            return None
        if isinstance(source, Path) and self._architecture.is_other:
            return Transformer.read_exported(source, self._architecture, self.precision)
        if not self._architecture.is_bert:
            return None
        if isinstance(source, Path):
            return Transformer.read(source, self._architecture, self.precision)
        with scratch_folder() as folder:
            try:
                write_model(source, folder)
                return Transformer.read(folder, read_architecture(folder), self.precision)
            except (AttributeError, ModelError) as error:  # it calls itself BERT, and has other parts
                say_general(error)
                return None


def _save_graph(model: SentenceTransformer, folder: Path) -> None:
    """Write the graph of a transformer into the folder where the model was saved: read there, it needs no torch.

    Where it cannot be traced, a line is logged and there is none. The same where it gives other vectors of a long text:
    what is traced with a short one may hold only for that, and nobody knows all architectures.
    """
    text = "A bee visits a flower, and there is honey. " * 30
    try:
        write_graph(model.transformers_model, folder / EXPORTED[0][0])
        own = Transformer.read_exported(folder, read_architecture(folder), "float32")
        expected = np.asarray(model.encode([text], normalize_embeddings=True, show_progress_bar=False))
        if own and float((normalize_in_place(own([text])) * expected).sum()) >= 0.999:
            return
        say_general("its exported graph gives other vectors")
    except Exception as error:  # any error that three libraries may raise for what they cannot trace
        say_general(one_line_of(error))
    delete((folder / EXPORTED[0][0]).parent, parts=[Path(name).name for name in EXPORTED[0]])


def _find_distinct(texts: Sequence[str]) -> tuple[list[str], Longs]:
    """Each text once, and for each of the given ones its place among them."""
    row = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return list(row), np.fromiter(map(row.__getitem__, texts), np.int64, len(texts))


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and modification time of each file that vectors depend on."""
    stats = ((file, file.stat()) for file in model_files(folder))
    return {file.relative_to(folder).as_posix(): (stat.st_size, stat.st_mtime_ns) for file, stat in stats}
