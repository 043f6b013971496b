"""The architecture of a sentence-transformers model, from its folder (without heavy imports) or from memory."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagwright.core.checked import show
from tagwright.core.saved import is_folder_name
from tagwright.encoders.prompts import NONE, Prompts
from tagwright.errors import ModelError
from tagwright.registry import encoder_module

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer

_PLACE = r"sentence_transformers\.(?:models|base\.modules|sentence_transformer\.modules)"
_MODULE = re.compile(
    rf"{_PLACE}(?:\.\w+)?\.(?:Asym|BoW|CNN|Dense|Dropout|LSTM|LayerNorm|Normalize|Pooling|Router|StaticEmbedding|"
    r"Transformer|WeightedLayerPooling|WordEmbeddings|WordWeights)"
)
"The modules that a model may have, by their places in different versions of the library."

_NAMED = re.compile(
    rf"{_MODULE.pattern}|{_PLACE}\.tokenizer(?:\.\w+)?\.(?:Phrase|Whitespace)Tokenizer|torch\.(?:bfloat|float|int)\d+|"
    r"torch\.nn\.(?:modules\.(?:activation|linear)\.)?(?:ELU|GELU|Identity|LeakyReLU|Mish|ReLU|SiLU|Sigmoid|Softmax|Tanh)"
)
"What else the settings of a model may name in a library."


@dataclass(frozen=True)
class Architecture:
    """modules: class names in order. config: the transformer's own. max_length: tokens; None if unstated.

    paths: of the modules in the model's folder.
    """

    modules: tuple[str, ...]
    config: Mapping[str, Any]
    pooling: str
    max_length: int | None
    prompts: Prompts = NONE
    paths: tuple[str, ...] = ()

    @property
    def is_bert(self) -> bool:
        """Whether `graphs.bert_graph`, and the layers that follow, compute exactly what this model does."""
        expected = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
        return (
            self._is_pooled
            and all(self.config.get(key, value) == value for key, value in expected.items())
            and not self.config.get("is_decoder")
        )

    @property
    def is_other(self) -> bool:
        """Whether a graph of another transformer, if one was exported, and the layers that follow do."""
        purposes = self.config.get("architectures") or ()
        return self._is_pooled and not self.is_bert and not any("Classification" in str(each) for each in purposes)

    @property
    def _is_pooled(self) -> bool:
        return (
            self.modules[:2] == ("Transformer", "Pooling")
            and set(self.modules[2:]) <= {"Normalize", "Dense"}
            and "model_type" in self.config
            and self.pooling in {"cls", "mean"}
            and self.max_length is not None
            and not self.prompts.left_out
        )

    @property
    def after(self) -> tuple[tuple[str, str], ...]:
        """The modules after pooling: class name and path."""
        first = 1 if self.is_static else 2
        return tuple(zip(self.modules, self.paths, strict=True))[first:] if self.paths else ()

    @property
    def is_static(self) -> bool:
        """Whether a text is encoded by the mean of its tokens' vectors."""
        return "StaticEmbedding" in self.modules

    @property
    def is_token_table(self) -> bool:
        """Whether `token_table.TokenTable` computes exactly what this model does."""
        return self.modules[:1] == ("StaticEmbedding",) and set(self.modules[1:]) <= {"Normalize", "Dense"}


def read_architecture(folder: Path) -> Architecture:
    """Read the configuration files of a folder; one without modules.json is a bare transformer, pooled by the mean.

    Raises ModelError when there is nothing to read or a file is damaged.
    """
    if module := encoder_module(folder):
        architecture: Architecture = module.architecture(folder)
        return architecture
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise ModelError(f"{folder}: no encoder here, neither modules.json nor config.json")
    modules = [(kind.rsplit(".", 1)[-1], path) for kind, path in read_modules(folder)]
    paths = dict(modules)
    transformer = folder / paths.get("Transformer", "")
    config, sentence = read_json(transformer / "config.json"), read_json(transformer / "sentence_bert_config.json")
    pooling = read_json(folder / paths.get("Pooling", "") / "config.json")
    lengths = (
        sentence.get("max_seq_length"),
        read_json(transformer / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
    )
    return Architecture(
        tuple(kind for kind, _ in modules),
        # Lower-casing before the tokenizer is an old option that only the general path supports.
        config if not sentence.get("do_lower_case") and not paths.get("Transformer") else {},
        _pooling(pooling),
        min((length for length in lengths if isinstance(length, int) and length > 0), default=None),
        _prompts(folder / "config_sentence_transformers.json", pooled=pooling.get("include_prompt") is not False),
        tuple(path for _, path in modules),
    )


def architecture_of(model: SentenceTransformer) -> Architecture:
    """The same of a model in memory."""
    transformer = getattr(model, "transformers_model", None)
    pooling = next((module for module in model if type(module).__name__ == "Pooling"), None)
    return Architecture(
        tuple(type(module).__name__ for module in model),
        {} if transformer is None else transformer.config.to_dict(),
        str(getattr(pooling, "pooling_mode", "")),
        model.max_seq_length,
        prompts_of(model),
    )


def prompts_of(model: SentenceTransformer | CrossEncoder) -> Prompts:
    """The prompts of a model in memory."""
    pooled = all(getattr(module, "include_prompt", True) for module in model)
    return Prompts.of_model(model.prompts, model.default_prompt_name, pooled=pooled)


def _prompts(file: Path, *, pooled: bool) -> Prompts:
    settings = read_json(file)
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(text, str | None) for text in prompts.values()):
        raise ModelError(f"{file}: damaged (the prompts are {show(prompts, 100)}); get the model again")
    return Prompts.of_model(prompts, settings.get("default_prompt_name"), pooled=pooled)


def _pooling(config: Mapping[str, Any]) -> str:
    """The enabled pooling mode; older files have a switch for each mode."""
    old = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    modes = (
        [config["pooling_mode"]]
        if "pooling_mode" in config
        else [old.get(key, key) for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    )
    return "mean" if not modes else "+".join(map(str, modes))


def read_modules(folder: Path) -> list[tuple[str, str]]:
    """The type and path of each part of a model; a folder without modules.json has the usual two.

    Raises ModelError when the file is damaged, a type is not known here, or a path leads out of the model's folder.
    """
    file = folder / "modules.json"
    if not file.is_file():
        return [("Transformer", ""), ("Pooling", "1_Pooling")]
    modules = _json(file)
    parts = modules if isinstance(modules, list) and modules else [None]
    kinds = [(str(part.get("type")), str(part.get("path"))) if isinstance(part, dict) else ("", "") for part in parts]
    for kind, path in kinds:
        if not _MODULE.fullmatch(kind) or not (path == "" or is_folder_name(path)):
            raise ModelError(f"{file}: names the module {show(kind)} in the folder {show(path)}, {_UNKNOWN}")
    return kinds


_UNKNOWN = "which is no known layer, activation or tokenizer of sentence-transformers and torch; take another model"


def check_named(folder: Path) -> None:
    """Check what the settings of a model name, before a library reads them: it imports and calls whatever that is.

    Raises ModelError for a name in sentence-transformers, transformers or torch other than those of known layers,
    activations and tokenizers, and for an attention that is fetched from the Hub.
    """
    parts = [folder / path for _, path in read_modules(folder) if path]  # beside them may lie checkpoints
    libraries = "torch.", "transformers.", "sentence_transformers."
    files = [*folder.glob("*.json"), *(file for part in parts for file in part.rglob("*.json"))]
    for file in (file for file in files if "config" in file.name or file.name == "modules.json"):
        values: list[tuple[str, Any]] = [("", _json(file))]
        while values:
            key, value = values.pop()
            if isinstance(value, dict):
                values += value.items()
            elif isinstance(value, list):
                values += ((key, item) for item in value)
            elif isinstance(value, str) and (
                (value.startswith(libraries) and not _NAMED.fullmatch(value))
                or ("attn_implementation" in key and "/" in value)
            ):
                raise ModelError(f"{file}: names {show(value)}, {_UNKNOWN}")


def read_json(file: Path) -> dict[str, Any]:
    """The settings in a file, none where there is no file. Raises ModelError when it is damaged."""
    values = _json(file) if file.is_file() else {}
    return values if isinstance(values, dict) else {}


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file}: damaged ({error}); get the model again") from None
