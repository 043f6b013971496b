"""Write what the sources say of themselves into the pages: `python -m tools.reference`.

The pages of docs/reference: the commands, the Python interface, the measures. A test fails where one of them is not
what the sources say.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from textwrap import dedent

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"

WIDTH = 100

PYTHON: Mapping[str, str] = {
    "The functions": "zero_shot train load evaluate compare report",
    "Files of runs and labels": "read_run write_run read_qrels write_qrels write_jsonl",
    "Taggers and what they suggest": "Tagger Suggestion Suggestions Evidence Reason Run",
    "Documents and labels": "Document Section Corpus Label Vocabulary",
    "Scores": "Score Scores Comparisons",
    "Stages of your own": "Stage Retriever EvidenceSpan Pair testing.check_stage",
    "scikit-learn and Arrow": "sklearn.TaggerClassifier batch.ArrowTagger",
    "Methods and their options": "auto.recipe.Config tagger.zero_shot.Config papers.rts.Config papers.maclr.Config "
    "papers.maclr.FewShot papers.micol.Config papers.futex.Config papers.svm.Config papers.depl.Config "
    "training.config.TrainingConfig",
    "Errors": "TagwrightError InputError ConfigError ModelError",
}
"Heading of the page -> the names below it."

INNER = {"write", "read", "retrieve", "candidates", "rank", "evidence", "stages"}
"Methods of `Tagger` that its own parts call."


def pages() -> dict[Path, str]:
    """Each page, and what it should hold."""
    makers = {"command-line": commands, "python": interface, "measures": measures}
    return {FOLDER / f"{name}.md": made() for name, made in makers.items()}


def measures() -> str:
    """A table: each kind of measure, and what it says."""
    from tagwright.evaluation.scores import SENTENCES

    said = "This page is made by `python -m tools.reference`. [Evaluation](../evaluation.md) shows measures in use."
    rows = (f"| {kind if kind == 'answered' else f'{kind}@k'} | {text} |" for kind, text in SENTENCES.items())
    return "\n".join(["# Measures", "", said, "", "| measure | what it says |", "| --- | --- |", *rows, ""])


def commands() -> str:
    """The help of every command, as Markdown."""
    import typer
    from typer.cli import get_docs_for_click
    from typer.core import TyperGroup
    from typer.main import get_command

    from tagwright.app.cli import app

    command = get_command(app)
    assert isinstance(command, TyperGroup)
    text = get_docs_for_click(
        obj=command, ctx=typer.Context(command, info_name="tagwright"), name="tagwright", indent=1
    )
    for name, each in command.commands.items():
        start = f"\n* `{name}`: "  # the list of commands cuts their first sentences short
        before, _, after = text.partition(start)
        text = before + start + (each.help or "").partition("\n\n")[0] + "\n" + after.partition("\n")[2]
    said = "This page is made by `python -m tools.reference`. It says what `tagwright COMMAND --help` says."
    return f"# The command line\n\n{said}\n\n{text.strip()}\n"


def interface() -> str:
    """The functions and classes of `PYTHON`, as Markdown."""
    said = "This page is made from the docstrings by `python -m tools.reference`; [Python](../python.md) is the guide."
    parts = ["# Python reference", said]
    for heading, names in PYTHON.items():
        parts += [f"## {heading}", *(part for name in names.split() for part in described(name))]
    return "\n\n".join(part for part in parts if part) + "\n"


def described(name: str) -> Iterator[str]:
    """The heading, signature, docstring and members of a name below `tagwright`."""
    module, _, last = f"tagwright.{name}".rpartition(".")
    node = ast.parse(dedent(inspect.getsource(inspect.unwrap(getattr(import_module(module), last))))).body[0]
    yield f"### `{name}`"
    if isinstance(node, ast.FunctionDef):
        yield _fenced(signature(node))
        yield documented(node)
    elif isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        yield f"A class of {bases}." if re.fullmatch(r"\w+(, \w+)*", bases) else ""
        yield documented(node)
        yield "\n".join(fields(node))
        for member in methods(node, INNER if name == "Tagger" else ()):
            yield _fenced(signature(member))
            yield documented(member)


def methods(node: ast.ClassDef, left_out: Collection[str] = ()) -> Iterator[ast.FunctionDef]:
    """The public methods of a class that say what they do, and what makes an instance if it takes something."""
    for each in node.body:
        if not isinstance(each, ast.FunctionDef) or each.name in left_out:
            continue
        makes = each.name in ("__init__", "__new__") and len(each.args.args + each.args.kwonlyargs) > 1
        if makes or (not each.name.startswith("_") and ast.get_docstring(each)):
            yield each


def fields(node: ast.ClassDef) -> Iterator[str]:
    """The fields of a class, a list item each: type and default, and the string below it if there is one."""
    for each, after in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(each, ast.AnnAssign) or ast.unparse(each.target).startswith("_"):
            continue
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        words = _escaped(" ".join(str(said).split()))
        yield f"- `{' '.join(ast.unparse(each).split())}`{words and f': {words}'}"


def signature(node: ast.FunctionDef) -> str:
    """The name of a function with its arguments, one a line where they are many.

    >>> signature(ast.parse("def cut(text: str, *, at: int = 5) -> str: ...").body[0])
    'cut(text: str, *, at: int = 5) -> str'
    """
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args]
    if listed and listed[0].arg in ("self", "cls"):
        (arguments.posonlyargs or arguments.args).pop(0)
    decorators = {ast.unparse(each) for each in node.decorator_list}
    is_property = not decorators.isdisjoint({"property", "cached_property"})
    start = "property " if is_property else "classmethod " if "classmethod" in decorators else ""
    given = [_argument(each, default) for each, default in _with_defaults(arguments)]
    if arguments.vararg:
        given.append(f"*{_argument(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        given.append("*")
    given += [_argument(*each) for each in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    given += [f"**{_argument(arguments.kwarg, None)}"] if arguments.kwarg else []
    returned = f" -> {ast.unparse(node.returns)}" if node.returns and not node.name.startswith("__") else ""
    line = f"{start}{node.name}({', '.join(given)}){returned}"
    return line if len(line) <= WIDTH else f"{start}{node.name}(\n    " + ",\n    ".join(given) + f",\n){returned}"


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    listed = [*arguments.posonlyargs, *arguments.args]
    yield from zip(listed, [None] * (len(listed) - len(arguments.defaults)) + [*arguments.defaults], strict=True)


def _argument(each: ast.arg, default: ast.expr | None) -> str:
    text = ast.unparse(each)
    return text if default is None else f"{text}{' = ' if each.annotation else '='}{ast.unparse(default)}"


def documented(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The docstring of a function or class, as Markdown: examples as code, explained arguments as a list."""
    known = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    known |= {ast.unparse(each.target) for each in ast.walk(node) if isinstance(each, ast.AnnAssign)}
    blocks = (ast.get_docstring(node) or "").split("\n\n")
    return "\n\n".join(_fenced(block) if ">>>" in block else _listed(block, known) for block in blocks)


def _listed(block: str, known: Collection[str]) -> str:
    """Make a list of the parameters that a paragraph explains one after the other: "text: what to read. k: at most"."""
    text = " ".join(line.strip() for line in block.split("\n"))
    places = [
        match
        for match in re.finditer(r"(?:^|(?<=[.;] ))(\w+(?:, \w+)*): ", text)
        if all(name in known for name in match[1].split(", "))
    ]
    if not places:
        return _escaped(block)
    body, separator, errors = text.partition(" Raises ")
    ends = [*(match.start() for match in places[1:]), len(body)]
    rows = [
        f"- **{match[1]}**: {_escaped(body[match.end() : end].strip().rstrip(';'))}"
        for match, end in zip(places, ends, strict=True)
        if match.end() <= len(body)
    ]
    raised = _escaped(f"Raises {errors}" if separator else "")
    found = [_escaped(body[: places[0].start()].strip()), "\n".join(rows), raised]
    return "\n\n".join(part for part in found if part)


def _escaped(line: str) -> str:
    """What is not in backticks without the signs that Markdown reads."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if place % 2 else re.sub(r"[*<\[\\]", r"\\\g<0>", part) for place, part in enumerate(parts))


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
