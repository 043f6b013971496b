"""Find the parts of a saved tagger by name: our stages and combiners, and registered ones of other packages.

Ours are named by their class; those of others by their entry point and its package, and looked up when they are met.
"""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tagwright import registry as plugins
from tagwright.combining.combiner import Combiner
from tagwright.core.checked import shown
from tagwright.errors import ConfigError, ModelError, TagwrightError, one_line_of
from tagwright.types import Label, Retriever, Stage

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
    "LlmKeywords": "tagwright.stages.llm",
    "LlmRanking": "tagwright.stages.llm",
}
COMBINERS: Mapping[str, str] = {
    "WeightedSum": "tagwright.combining.weighted_sum",
    "AppendLabels": "tagwright.combining.weighted_sum",
    "LearnedCombiner": "tagwright.combining.learned_combiner",
    "Reranked": "tagwright.combining.reranked",
}
"""Our own: class -> module, which is imported when a tagger has one: importing all of them takes as long as loading a
tagger without an encoder. Each class has a `load(folder, labels)`."""

_TABLES: Mapping[str, Mapping[str, str]] = {plugins.STAGES: STAGES, plugins.COMBINERS: COMBINERS}
_NAME = re.compile(r"\w[\w.+-]{0,99}", re.ASCII)

Saved = str | dict[str, str]
"How a manifest names the kind of a part: a class of ours, or an entry point and its package."


def saved_kind(part: Stage | Combiner, group: str) -> Saved:
    """How a manifest names the kind of a stage or combiner. group: of entry points.

    Raises ConfigError for a class that is neither ours nor registered, since it could not be loaded again.
    """
    kind = type(part)
    name: str = kind.__name__
    if _TABLES[group].get(name) == kind.__module__:
        return name
    for point in plugins.registered(group):
        if point.attr == kind.__qualname__ and plugins.load(point) is kind:
            return {"entry_point": point.name, "package": plugins.package_of(point)}
    raise ConfigError(
        f"{kind.__module__}.{kind.__qualname__} cannot be saved, because no installed package registers it, so that it "
        f'could not be loaded; add an entry point of the group "{group}" to a package that holds it'
    )


def made_by_name(name: str, labels: Sequence[Label]) -> Stage:
    """The stage that a package registers under this name, made over the labels. Raises ConfigError if it is not one."""
    point = plugins.find(plugins.STAGES, name)
    if point is None:
        raise ConfigError(f"no installed package registers a stage {name}; install the one that does")
    kind = plugins.load(point)
    try:
        made: Stage = kind(labels)
    except TypeError as error:
        raise ConfigError(f"{name}: cannot be made of labels alone ({error}); make it in Python") from error
    return made


def load_part(group: str, kind: object, folder: Path, labels: Sequence[Label]) -> Any:
    """A stage or combiner from its own folder. Raises ModelError, which names the package that is to be installed."""
    ours = _TABLES[group]
    if isinstance(kind, str) and kind in ours:
        return getattr(import_module(ours[kind]), kind).load(folder, labels)
    names = (kind.get("entry_point"), kind.get("package")) if isinstance(kind, dict) else ()
    if not names or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in names):
        raise ModelError(f"{folder}: is a part of kind {shown(kind, 100)}, expected one of {', '.join(ours)}")
    name, package = map(str, names)
    point = plugins.find(group, name, package)
    if point is None:
        raise ModelError(
            f"{folder}: is a part of kind {name} of the package {package}, which is not installed; "
            f"install it if you trust it: pip install {package}"
        )
    loaded = plugins.load(point)
    try:
        return loaded.load(folder, labels)
    except TagwrightError:
        raise
    except Exception as error:  # the code of another package may fail in any way
        raise ModelError(
            f"{folder}: cannot be loaded by {name} of the package {package} ({one_line_of(error)}); "
            f"install the version of {package} that saved it"
        ) from error


def load_retriever(kind: object, folder: Path, labels: Sequence[Label]) -> Retriever:
    """Load a stage that must find candidates, see `load_part`."""
    stage = load_part(plugins.STAGES, kind, folder, labels)
    if not hasattr(stage, "find"):
        raise ModelError(f"{folder}: {type(stage).__name__} finds no candidates, expected a retriever; save it again")
    found: Retriever = stage
    return found
