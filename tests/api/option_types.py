"""`python -m tests.api.option_types` writes what type checkers know of the options of `zero_shot` and `train`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tagwright.api import option_types
from tagwright.api.job import ARGUMENTS_OF_A_JOB, Job
from tagwright.api.options import ZERO_SHOT
from tagwright.core.checked import Checked
from tagwright.registry import METHODS
from tagwright.training.config import TrainingConfig

FILE = Path(option_types.__file__)

HEAD = '''"""Options of `zero_shot` and `train` for type checkers; `python -m tests.api.option_types` writes it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

'''

Types = dict[str, dict[str, None]]
"Name of an option -> how its types are written, in the order of the methods."


def content() -> str:
    """The module, as it should be."""
    modules = dict[str, str]()  # name of a class -> its module
    zero_shot, train = Types(), Types()
    for method, registered in METHODS.items():
        add(train, registered.config, modules)
        if method == ZERO_SHOT:
            add(zero_shot, registered.config, modules)
    add(train, TrainingConfig, modules)
    add(train, Job, modules, ARGUMENTS_OF_A_JOB)
    imports = "".join(f"from {module} import {name}\n" for name, module in sorted(modules.items(), key=lambda x: x[1]))
    tables = [table("ZeroShotOptions", zero_shot), table("TrainOptions", train)]
    return "\n".join([HEAD + imports, "# fmt: off", *tables])


def add(types: Types, kind: type[Any], modules: dict[str, str], names: Iterable[str] = ()) -> None:
    """Add the types of the fields of a dataclass, by default of all."""
    hints = get_type_hints(kind)
    for name in names or (field.name for field in fields(kind)):
        accepted = ["Any"] if name == "encoder" else written(hints[name], modules)  # an object may have `encode`
        types.setdefault(name, {}).update(dict.fromkeys(accepted))


def written(kind: Any, modules: dict[str, str]) -> list[str]:
    """How the types are written that one annotation allows: a list where the option is a tuple, tables as mappings."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return [text for part in parts for text in written(part, modules)]
    if origin is Literal:
        return [f"Literal{json.dumps(parts)}"]
    if origin in (tuple, Sequence):
        return [f"Sequence[{' | '.join(written(parts[0], modules))}]"]
    if origin is Mapping:
        return [f"Mapping[str, {' | '.join(written(parts[1], modules))}]"]
    if origin is Callable:
        return ["Callable[..., Any]"]
    if kind is NoneType:
        return ["None"]
    if kind.__module__.startswith("tagwright."):
        modules[kind.__name__] = kind.__module__
        return [kind.__name__, *["Mapping[str, Any]"] * issubclass(kind, Checked)]
    return [str(kind.__name__)]


def table(name: str, types: Types) -> str:
    """A TypedDict, as many options in a line as there is room."""
    lines = [f'{name} = TypedDict("{name}", {{  # noqa: UP013 - as a class it has a line for each option', "   "]
    for option, accepted in sorted(types.items()):
        item = f' "{option}": {" | ".join(sorted(accepted, key=lambda text: text == "None"))},'
        if len(lines[-1]) + len(item) > 120:
            lines.append("   ")
        lines[-1] += item
    return "\n".join([*lines, "}, total=False)\n"])


if __name__ == "__main__":
    FILE.write_text(content(), encoding="utf-8")
