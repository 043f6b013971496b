"""Messages that Python users see name arguments of Python, not options of the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sources import modules

from tagwright.core.steps import State, open_steps
from tagwright.errors import ConfigError, on_command_line

COMMANDS = {"app", "server", "batch"}
"Packages that only the command line uses."

WRITTEN_OUT = {
    "errors.py", "evaluation/advice.py", "evaluation/description.py", "core/cache.py", "encoders/model_folder.py",
    "readers/documents/columns.py", "readers/documents/pandoc.py", "readers/lines.py",
}  # fmt: skip
"They write whole commands, those of other programs too, name both ways, or parse an option itself."

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts of a module that are no docstrings, with their lines."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def test_no_message_of_the_library_names_an_option_of_the_command_line() -> None:
    found = {
        f"{name}:{line} {text}"
        for name, tree in modules()
        if name.partition("/")[0] not in COMMANDS and name not in WRITTEN_OUT
        for line, text in messages(tree)
        if FLAG.search(text)
    }
    assert found == set()


@pytest.mark.parametrize(("inside", "said"), [(False, "continue it with resume=True"), (True, "with --resume")])
def test_an_unfinished_training_is_continued_in_the_words_of_its_reader(
    tmp_path: Path, inside: bool, said: str
) -> None:
    with open_steps(tmp_path / "M", {"method": "rts"}, resume=False) as steps:
        steps.keep(State({}), {})
    with pytest.raises(ConfigError, match=said):
        if inside:
            with on_command_line(), open_steps(tmp_path / "M", {"method": "rts"}, resume=False):
                pass
        with open_steps(tmp_path / "M", {"method": "rts"}, resume=False):
            pass
