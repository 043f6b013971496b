"""Find methods, stages, steps and commands by name, and those that other installed packages add.

Ours stand in one table a kind, with the module of each, which is imported when it is used: importing all of them takes
longer than loading a tagger. Other packages register theirs as entry points of the groups tagwright.methods,
tagwright.stages, tagwright.steps, tagwright.readers and tagwright.commands. These are looked up when a name is not one
of ours. Only installed packages are imported, and of them only what they register: a saved tagger or an option can
name an entry point, never a module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tagwright.core.checked import canonical, show
from tagwright.errors import ConfigError, ModelError, TagwrightError, class_and_message, one_line_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from tagwright.types import Label, Retriever, Stage

Kind: TypeAlias = Literal["methods", "stages", "steps", "readers", "commands"]
Part: TypeAlias = Literal["stages", "steps"]

STAGES: Mapping[str, str] = {
    "ExactMatch": "tagwright.stages.names.exact_match",
    "TitleMatch": "tagwright.stages.names.exact_match",
    "Lexical": "tagwright.stages.lexical",
    "Dense": "tagwright.stages.dense.retriever",
    "DescriptionRetriever": "tagwright.papers.descriptions",
    "FullText": "tagwright.papers.full_text",
    "Linear": "tagwright.stages.linear.stage",
    "Trees": "tagwright.papers.label_trees",
    "NearestByMeaning": "tagwright.stages.nearest_labelled",
    "NearestLabelled": "tagwright.stages.nearest_labelled",
    "CrossEncoderReranker": "tagwright.stages.reranker",
    "LlmRanking": "tagwright.stages.llm",
    "ByLanguage": "tagwright.stages.by_language",
}
STEPS: Mapping[str, str] = {
    "WeightedSum": "tagwright.combining.weighted_sum",
    "AppendLabels": "tagwright.combining.weighted_sum",
    "LearnedCombiner": "tagwright.combining.learned_combiner",
    "LabelFree": "tagwright.combining.label_free",
    "Curve": "tagwright.combining.confidence",
    "Mapped": "tagwright.combining.confidence",
    "NoneFits": "tagwright.combining.none_fits",
    "Reranked": "tagwright.combining.reranked",
    "Thresholds": "tagwright.combining.thresholds",
}
ENCODERS: Mapping[str, str] = {"e5-small-q4.bin": "tagwright.encoders.four_bit"}
"""Encoders that are one file, in their package as in a saved tagger: its name -> the module that reads it, with `FILE`,
`architecture(folder)`, `read(folder)` and `write_model(folder, target)`."""

READERS: Mapping[str, str] = {
    "open_sources": "tagwright.readers.documents.files",
    "corpus_of": "tagwright.readers.documents.in_memory",
    "locate_documents": "tagwright.readers.documents.in_memory",
    "read_labels": "tagwright.readers.labels.files",
    "to_vocabulary": "tagwright.readers.labels.files",
    "write_labels": "tagwright.readers.labels.files",
}
"""Functions that read what `Corpus`, `Vocabulary` and taggers are given but cannot read themselves, and their modules:
a program that tags texts with labels from memory loads no reader."""

OURS: Mapping[str, Mapping[str, str]] = {"stages": STAGES, "steps": STEPS}
"Our own parts of a saved tagger: class -> module. Each class has a `from_state(state, labels)`."

COMMANDS = (
    "suggest", "batch", "train", "evaluate", "compare", "describe", "labels", "serve", "reviews", "enrich", "monitor",
    "read", "mcp", "demo",
)  # fmt: skip
"""Our commands, in the order of `tagwright --help`: each is the function of its name in the module of its name in
`tagwright.app.commands`."""


def reader(name: str) -> Callable[..., Any]:
    """One of the functions of `READERS`."""
    read: Callable[..., Any] = getattr(import_module(READERS[name]), name)
    return read


@dataclass(frozen=True)
class Method:
    """A method: the module of its recipe, and what its training needs.

    The module has `Config`, the class of its options; `fit(documents, labels, config, steps, **arguments)`, which
    returns a tagger; and `paper()`, the settings of its paper, if there is one. names: of these three, where they are
    others. `published_code()`: the same as the authors' programs have them, where they differ. learns: from nothing,
    texts, labels, or either texts or labels; methods that learn from labels get `gold`. accepts: the other arguments of
    a training that it accepts, see `api.options.ARGUMENTS`. needs: packages that are no dependencies. continues: what
    it trains of a tagger that it continues from: its encoder, which it must be given; or the ranking of its stages.
    encodes: its encoder is used as it is, not trained, so that it may be any object.
    """

    module: str
    learns: Literal["nothing", "texts", "labels", "either"] = "labels"
    accepts: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()
    names: tuple[str, str, str] = ("Config", "fit", "paper")
    continues: Literal["encoder", "ranking"] | None = None
    encodes: bool = False

    @property
    def config(self) -> type[Any]:
        """The class of its options."""
        kind: type[Any] = getattr(import_module(self.module), self.names[0])
        return kind

    @property
    def fit(self) -> Callable[..., Any]:
        """Its training."""
        train: Callable[..., Any] = getattr(import_module(self.module), self.names[1])
        return train

    @property
    def paper(self) -> Callable[[], Any] | None:
        """The settings of its paper."""
        return getattr(import_module(self.module), self.names[2], None)

    @property
    def published_code(self) -> Callable[[], Any] | None:
        """The settings of its paper with those that its authors' programs have instead."""
        return getattr(import_module(self.module), "published_code", None) if self.names[2] == "paper" else None


_FUSED = frozenset({"fuse", "fuse_with"})  # the stages alone determine the ranking, so fusing is possible
_TORCH = ("torch", "accelerate")
_LIBRARY = (*_TORCH, "sentence_transformers")  # also of a static encoder; of others whoever loads one asks for it

METHODS: Mapping[str, Method] = {
    "zero_shot": Method("tagwright.tagger.zero_shot", "nothing", names=("Config", "train", "paper"), encodes=True),
    "auto": Method(
        "tagwright.auto", "either", frozenset({"reviews", "minutes", "model"}), continues="ranking", encodes=True
    ),
    "rts": Method("tagwright.papers.rts", "texts", _FUSED | {"loss", "pairs"}, _TORCH),
    "maclr": Method("tagwright.papers.maclr", "texts", _FUSED, _TORCH),
    "micol": Method("tagwright.papers.micol", "texts", frozenset({"loss"}), _TORCH),
    "futex": Method("tagwright.papers.futex", "texts", needs=_LIBRARY),
    "finetune": Method(
        *("tagwright.papers.maclr", "labels", _FUSED | {"loss", "model", "share_of_labels", "share_of_pairs"}, _TORCH),
        continues="encoder",
        names=("FewShot", "fine_tune", "few_shot_paper"),
    ),
    "svm": Method("tagwright.papers.svm", "labels", _FUSED),
    "depl": Method("tagwright.papers.depl", "labels", _FUSED | {"keywords"}, _LIBRARY),
}
"Our methods by name."


@cache
def find_registered(kind: Kind) -> tuple[EntryPoint, ...]:
    """All entry points of a kind, searched once in a process."""
    from importlib.metadata import entry_points

    return tuple(entry_points(group=f"tagwright.{kind}"))


def find(kind: Kind, name: str, package: str = "") -> EntryPoint | None:
    """The entry point of this name, of this package if one is given; None where there is none."""
    fits = (point for point in find_registered(kind) if canonical(point.name) == canonical(name))
    return next((point for point in fits if not package or _plain(package_of(point)) == _plain(package)), None)


def package_of(point: EntryPoint) -> str:
    """The name of the distribution that registers it: what pip installs."""
    return point.dist.name if point.dist else ""


def load(point: EntryPoint) -> Any:
    """Import the object that an entry point names. Raises TagwrightError when its package cannot be imported."""
    try:
        return point.load()
    except Exception as error:  # another package's import may fail in any way
        raise TagwrightError(
            f"the package {package_of(point)} registers {point.name} in {point.group}, but it cannot be imported "
            f"({one_line_of(error)}); repair or uninstall it"
        ) from error


def command(name: str) -> Callable[..., None] | None:
    """The function of a command, ours or that of another package; None where there is none."""
    if name in COMMANDS:
        ours: Callable[..., None] = getattr(import_module(f"tagwright.app.commands.{name}"), name)
        return ours
    return load(point) if (point := find("commands", name)) else None


def encoder_module(folder: Path) -> Any:
    """The module that reads the encoder of a folder where it is one of `ENCODERS`; None for usual ones."""
    return next((import_module(module) for name, module in ENCODERS.items() if (folder / name).is_file()), None)


def method(name: str) -> Method | None:
    """The method of this name: ours, or a `Method` that another package registers; None where there is none."""
    if name in METHODS:
        return METHODS[name]
    return load(point) if (point := find("methods", name)) else None


def saved_kind(part: Any, kind: Part) -> str | dict[str, str]:
    """How a manifest names the class of a stage or step: ours by its name, others by entry point and package.

    Raises ConfigError for a class that is neither ours nor registered, since it could not be loaded again.
    """
    made_by, ours = type(part), OURS[kind]
    if ours.get(made_by.__name__) == made_by.__module__:
        return made_by.__name__
    for point in find_registered(kind):
        if point.attr == made_by.__qualname__ and load(point) is made_by:
            return {"entry_point": point.name, "package": package_of(point)}
    raise ConfigError(
        f"{made_by.__module__}.{made_by.__qualname__} cannot be saved, because no installed package registers it, so "
        f'that it could not be loaded; add an entry point of the group "tagwright.{kind}" to a package that holds it'
    )


def saved_part(part: Any, kind: Part) -> dict[str, Any]:
    """The state of a stage or step with its class, see `saved_kind`, for `load_part`."""
    return {"class": saved_kind(part, kind), **part.state()}


def load_part(kind: Part, saved: Any, labels: Sequence[Label]) -> Any:
    """A stage or step from its saved state, see `saved_part`.

    Raises ConfigError for what is damaged, ModelError for one of a package that is to be installed.
    """
    if not isinstance(saved, Mapping):
        raise ConfigError(f"one of its {kind} is {show(saved, 100)}, expected its state")
    of, package = saved.get("class"), ""
    if isinstance(of, str) and of in OURS[kind]:
        part = getattr(import_module(OURS[kind][of]), of)
    else:
        part, package = _part_of_package(kind, of)
    try:
        return part.from_state(saved, labels)
    except TagwrightError:
        raise
    except Exception as error:  # that of another package may fail in any way, and ours with damaged files
        problem = f"{part.__name__} cannot be made of its state ({class_and_message(error)})"
        if package:
            raise ModelError(f"{problem}; install the version of {package} that saved it") from error
        raise ConfigError(problem) from error


def _part_of_package(kind: Part, saved: object) -> tuple[Any, str]:
    """The class that an entry point names, and its package. saved: both, as in a manifest."""
    names = (saved.get("entry_point"), saved.get("package")) if isinstance(saved, Mapping) else ()
    if not names or not all(isinstance(name, str) and re.fullmatch(r"(?a:\w[\w.+-]{0,99})", name) for name in names):
        raise ConfigError(f"one of its {kind} is of kind {show(saved, 100)}, expected one of {', '.join(OURS[kind])}")
    name, package = map(str, names)
    if (point := find(kind, name, package)) is None:
        raise ModelError(
            f"the saved tagger needs {name} of the package {package}, which is not installed; "
            f"install it if you trust it: pip install {package}"
        )
    return load(point), package


def load_retriever(saved: Any, labels: Sequence[Label]) -> Retriever:
    """Load a stage that must find candidates, see `load_part`."""
    stage: Retriever = load_part("stages", saved, labels)
    if not hasattr(stage, "find"):
        raise ConfigError(f"{type(stage).__name__} finds no candidates, expected a retriever")
    return stage


def made_by_name(name: str, labels: Sequence[Label]) -> Stage:
    """The stage that a package registers under this name, made over the labels. Raises ConfigError if it cannot be."""
    point = find("stages", name)
    if point is None:
        raise ConfigError(f"no installed package registers a stage {name}; install the one that does")
    try:
        stage: Stage = load(point)(labels)
    except TagwrightError:
        raise
    except Exception as error:  # the code of another package may fail in any way
        raise ConfigError(
            f"the stage {name} of the package {package_of(point)} cannot be made of labels alone "
            f"({class_and_message(error)}); make it in Python"
        ) from error
    return stage


def _plain(package: str) -> str:
    """The name of a package as pip compares it.

    >>> _plain("Author.Keywords")
    'author-keywords'
    """
    return re.sub(r"[-_.]+", "-", package).lower()
