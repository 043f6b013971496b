"""The table of the methods, their checked options, and the record of a training."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import numpy as np

from tagwright.core.checked import build, canonical, shown
from tagwright.core.progress import note
from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.device import gpu_name, threads, uses_gpu
from tagwright.encoders.model_folder import encoder_name
from tagwright.encoders.precision import resolve
from tagwright.errors import ConfigError, option
from tagwright.tagger import Tagger
from tagwright.training.config import OF_ENCODER, TrainingConfig, lasting_options
from tagwright.types import Document, Run

Learns: TypeAlias = Literal["nothing", "texts", "labels", "either"]
"What a method learns from: either texts alone or texts with gold labels."


@dataclass(frozen=True)
class Method:
    """A method, whose module is imported when it is used: importing all takes longer than loading a tagger.

    module: in `tagwright`. names: there, of the class of its options, and of the function that gives the
    settings of its paper, if there is one. adapter: its training, where that is not the module's `fit`. accepts: the
    other arguments of a training that it accepts, see `ARGUMENTS`. needs: packages that are no dependencies.
    """

    module: str
    learns: Learns
    names: tuple[str, str | None] = ("Config", "paper")
    accepts: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()
    adapter: Callable[..., Tagger] | None = None

    @property
    def config(self) -> type[Any]:
        """The class of its options."""
        kind: type[Any] = self._of_module(self.names[0])
        return kind

    @property
    def paper(self) -> Callable[[], Any] | None:
        """The settings of its paper."""
        return self._of_module(self.names[1]) if self.names[1] else None

    @property
    def fit(self) -> Callable[..., Tagger]:
        """Its training: takes documents, labels, config, steps and named arguments.

        `tagwright.api.job.Job` gives gold labels to methods that learn from labels.
        """
        return self.adapter or self._of_module("fit")

    def _of_module(self, name: str) -> Any:
        return getattr(import_module(f"tagwright.{self.module}"), name)


ARGUMENTS = (
    "fuse", "fuse_with", "keywords", "guesses", "reviews", "minutes", "synthetic", "model", "share_of_labels",
    "share_of_pairs",
)  # fmt: skip
"Arguments of a training that only some methods accept."

ZERO_SHOT, AUTO_METHOD, FINETUNE, COMBINE = "zero_shot", "auto", "finetune", "combine"

_FUSED = frozenset({"fuse", "fuse_with"})  # the stages alone determine the ranking, so fusing is possible
_LABELLED = _FUSED | {"guesses"}
_CONTINUED = frozenset({"model"})
_TORCH = ("torch", "accelerate")
_LIBRARY = (*_TORCH, "sentence_transformers")  # also of a static encoder; of others whoever loads one asks for it


def _zero_shot(documents: Sequence[Document], labels: Vocabulary, config: Any, _steps: Steps) -> Tagger:
    """Make the zero-shot tagger; documents help to recognise the language of the names."""
    from tagwright.tagger import zero_shot

    return zero_shot.fit(labels, config, documents)


def _simcse(documents: Sequence[Document], labels: Vocabulary, config: Any, steps: Steps) -> Tagger:
    """Train with two paragraphs of a document as they are, see `simcse_pairs`."""
    from tagwright.papers import contrastive
    from tagwright.papers.pairs import simcse_pairs

    return contrastive.fit(documents, labels, config, steps, pairs_of=simcse_pairs)


def _fine_tune(
    documents: Sequence[Document], _labels: Vocabulary, config: Any, steps: Steps, *, model: Tagger, gold: Run,
) -> Tagger:  # fmt: skip
    """Continue from a tagger with gold labels."""
    from tagwright.papers import maclr

    tuned = maclr.fine_tune(model, documents, gold, config, steps)
    return replace(tuned, training={"before": model.training})


def _combine(
    documents: Sequence[Document], _labels: Vocabulary, config: Any, _steps: Steps, *,
    model: Tagger, gold: Run, judged: Run | None = None,
) -> Tagger:  # fmt: skip
    """Learn to combine the stages of a tagger, and record nDCG@5 before and after, from 0 to 1."""
    from tagwright.auto import combine

    found = combine.fit(documents, model, config, gold=gold, judged=judged)
    if (combiner := found.combiner) is None:
        raise ConfigError(f"combine needs at least {combine.FEWEST} documents with labels of the vocabulary")
    measured = {"before": float(combiner.fixed.mean()), "after": float(combiner.measured.mean())}
    return replace(found.tagger, training={"before": model.training, "combined": {"nDCG@5": measured}})


_OF_NO_PAPER = ("Config", None)
_WORDS = _LABELLED | {"keywords"}

METHODS: dict[str, Method] = {
    ZERO_SHOT: Method("tagger.zero_shot", "nothing", _OF_NO_PAPER, adapter=_zero_shot),
    AUTO_METHOD: Method("auto", "either", _OF_NO_PAPER, frozenset({"reviews", "minutes", "synthetic"})),
    "rts": Method("papers.rts", "texts", accepts=_FUSED, needs=_TORCH),
    "maclr": Method("papers.maclr", "texts", accepts=_FUSED, needs=_TORCH),
    "micol": Method("papers.micol", "texts", needs=_TORCH),
    "futex": Method("papers.futex", "texts", needs=_LIBRARY),
    "ict": Method("papers.contrastive", "texts", accepts=_FUSED, needs=_TORCH),
    "simcse": Method("papers.contrastive", "texts", accepts=_FUSED, needs=_TORCH, adapter=_simcse),
    FINETUNE: Method(
        "papers.maclr", "labels", ("FewShot", "few_shot_paper"),
        _FUSED | _CONTINUED | {"share_of_labels", "share_of_pairs"}, _TORCH, _fine_tune,
    ),
    COMBINE: Method("auto.combine", "labels", _OF_NO_PAPER, _CONTINUED | {"reviews"}, adapter=_combine),
    "svm": Method("papers.svm", "labels", accepts=_LABELLED),
    "classifier": Method("papers.depl", "labels", ("ClassifierConfig", "classifier_paper"), _LABELLED, _LIBRARY),
    "de_ret": Method("papers.depl", "labels", ("DeRetConfig", "de_ret_paper"), _LABELLED, _LIBRARY),
    "depl": Method("papers.depl", "labels", accepts=_WORDS, needs=_LIBRARY),
    "depl_cls": Method("papers.depl", "labels", ("ClsConfig", "cls_paper"), _WORDS, _LIBRARY),
}  # fmt: skip
"All methods by name."


def method_name(method: str) -> str:
    """The name of a method as it is in `METHODS`; "de-ret" means "de_ret", "depl+cls" "depl_cls".

    Raises ConfigError with the nearest name, or the names there are.
    """
    if (name := canonical(method)) not in METHODS:
        near = get_close_matches(name, METHODS, 1, cutoff=0.61)  # "bert" is not meant as de_ret
        hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(METHODS)}"
        raise ConfigError(f"no method {shown(method)}; {hint}")
    return name


def named(method: str) -> Method:
    """The method of this name. Raises ConfigError with the names there are."""
    return METHODS[method_name(method)]


def configuration(method: str, values: Mapping[str, Any], language: str = "", *, paper: bool = False) -> Any:
    """Return the options of a method with these values, each checked; the others keep their defaults.

    language: for a method that has this option, unless the values name one. paper: the others are the paper's, but
    for those that do not fit a static encoder. An encoder may be a Path or a model of sentence-transformers as well,
    see `encoder_name`. Options of the training are in a table: `{"training": {"epochs": 2}}`. Raises ConfigError for an
    unknown method or option, with the nearest known one, and for a bad value; ModelError for an encoder that is neither
    here nor to be fetched, with paper.

    >>> configuration("zero_shot", {"stages": ["exact_match"], "candidates": 20}).candidates
    20
    """
    kind = named(method).config
    if language and "language" in {field.name for field in fields(kind)}:
        values = {"language": language, **values}
    if "encoder" in values:
        values = {**values, "encoder": encoder_name(values["encoder"])}
    if paper:
        values = _over_the_paper(method, values)
    return build(kind, {key: _plain(value) for key, value in values.items()})


def settings_of_paper(method: str) -> Any:
    """The options of the method's paper. Raises ConfigError for a method that is of no paper."""
    if (paper := named(method).paper) is None:
        methods = ", ".join(name for name, each in METHODS.items() if each.paper)
        raise ConfigError(f"{option('paper', python='paper=True')} is accepted by {methods}, not by {method}")
    return paper()


def _over_the_paper(method: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the method's paper with these values. Raises ConfigError for a method that is of no paper."""
    table = asdict(settings_of_paper(method))
    if "encoder" in values:
        _follow_encoder(table, method, values["encoder"])
    for name, value in values.items():
        if isinstance(value, TrainingConfig):  # what it leaves unset is the paper's
            value = {key: each for key, each in asdict(value).items() if each is not None}
        put(table, name, value)
        if name == "training" and isinstance(value, Mapping):
            table[name] |= {paper: None for own, paper in _INSTEAD.items() if own in value and paper not in value}
    return table


def _follow_encoder(table: dict[str, Any], method: str, encoder: str) -> None:
    """Unset what the paper says of a transformer where the encoder is static, so that the method's own holds.

    FuTex and MICoL train a cross-encoder by `training`, and DEPL's paper does not state it: they keep it.
    """
    from tagwright.training.encoder import OF_TRANSFORMERS, EncoderOptions, RetrievalOptions

    if not EncoderOptions(encoder=encoder).is_static:
        return
    unset = [name for name in OF_TRANSFORMERS if table.get(name)]
    table |= dict.fromkeys(unset)
    if issubclass(named(method).config, RetrievalOptions):
        unset += [name for name in OF_ENCODER if table["training"][name] is not None]
        table["training"] |= dict.fromkeys(OF_ENCODER)
    if unset:
        paper = option("paper", python="paper=True")
        note(f"{paper}: the encoder is static, for which {', '.join(unset)} are the method's own, not the paper's")


_INSTEAD = {"epochs": "steps", "warmup": "warmup_steps"}  # the second has precedence over the first


def nested(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Move keyword options of the training, such as epochs=2, into a table of their own.

    >>> nested("rts", {"epochs": 2, "temperature": 0.1})
    {'training': {'epochs': 2}, 'temperature': 0.1}
    """
    known = {field.name for field in fields(named(method).config)}
    ours = {field.name for field in fields(TrainingConfig)} - known if "training" in known else set()
    found: dict[str, Any] = {}
    for key, value in options.items():
        put(found, f"training.{key}" if key in ours else key, value)
    return found


def put(table: dict[str, Any], name: str, value: Any) -> None:
    """Set an option; "training.epochs" stands for epochs in the table training."""
    outer, dot, inner = name.partition(".")
    if dot and isinstance(table.get(outer), TrainingConfig):
        table[outer] = {field.name: getattr(table[outer], field.name) for field in fields(TrainingConfig)}
    if dot and isinstance(table.setdefault(outer, {}), Mapping):
        table[outer] = {**table[outer], inner: value}
    elif isinstance(value, Mapping) and isinstance(table.get(name), Mapping):
        table[name] = {**table[name], **value}
    else:
        table[name] = value


def check_given(method: str, given: Mapping[str, bool]) -> None:
    """Raise ConfigError for a given argument that the method does not accept. given: name -> whether it is given."""
    accepted = named(method).accepts
    for name in ARGUMENTS:
        if given.get(name) and name not in accepted:
            methods = [each for each, kind in METHODS.items() if name in kind.accepts]
            raise ConfigError(f"{option(name)} is accepted by {', '.join(methods)}, not by {method}")


def resolved(config: Any) -> Mapping[str, Any]:
    """Return the values of "auto" and unset options on this machine."""
    found: Mapping[str, Any] = getattr(config, "resolved", {})
    return {name: value for name, value in found.items() if getattr(config, name) != value}


def options_of(config: Any) -> dict[str, Any]:
    """The options that determine a training, with "auto" resolved; plain values."""
    return {**lasting_options(config), **resolved(config)}


def machine() -> dict[str, str]:
    """Properties of the machine that affect the last digits of the weights. Plain texts."""
    from importlib.metadata import version as installed

    return {
        "device": gpu_name() if uses_gpu() else f"cpu {platform.machine()}",
        "precision": resolve("auto"),
        "threads": str(threads()),
        **{name: installed(name) for name in ("torch", "openvino") if find_spec(name)},
    }


def record(method: str, options: Mapping[str, Any], on: Mapping[str, str], version: str, **more: Any) -> dict[str, Any]:
    """The training record that is saved with a tagger, for information."""
    date = datetime.now(UTC).date().isoformat()
    return {"method": method, "options": dict(options), **more, "machine": dict(on), "version": version, "date": date}


def _plain(value: Any) -> Any:
    """Convert tuples to lists, and numpy numbers to Python numbers, as in TOML."""
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value.item() if isinstance(value, np.generic) else value
