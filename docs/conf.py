"""How Sphinx builds these pages: offline, with the command line and the Python interface taken from the sources."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from tagwright import __version__

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

project = "Tagwright"
author = "Tagwright contributors"
copyright = "Tagwright contributors. Licence: Apache-2.0"  # noqa: A001  # Sphinx's name for it
version = release = __version__

# autodoc, not autoapi: that one infers types through the sources of torch and numpy, for minutes of processor time
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
smartquotes = False  # they would make a dash of the two hyphens of an option

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Tagwright {__version__}"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_js_files = ["versions.js"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True
# what documents and labels are given as is said once, on the page
autodoc_type_aliases = {name: name for name in ("Labels", "Texts", "Keywords", "Device", "Precision", "Unknown")}
python_maximum_signature_line_length = 88


def fill_in(app: Sphinx, page: str, source: list[str]) -> None:
    """Put what the sources say of themselves in the place of a mark (Sphinx's event source-read)."""
    for mark, text in FILLED.items():
        if mark in source[0]:
            source[0] = source[0].replace(mark, text())


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
    return text


def measures() -> str:
    """The rows of a table: each kind of measure, and what it says."""
    from tagwright.evaluation.scores import SENTENCES

    names = {kind: kind if kind == "answered" else f"{kind}@k" for kind in SENTENCES}
    return "\n".join(f"| {names[kind]} | {sentence} |" for kind, sentence in SENTENCES.items())


FILLED: Mapping[str, Callable[[], str]] = {
    "*`make docs` puts the help of every command here.*": commands,
    "| *`make docs` puts the measures here* | |": measures,
    "*`make docs` puts the documentation of each name in place of the directives below.*": str,
}
"What stands in a file for those who read it without building the documentation, and what the build puts there."


def plain_docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring, which is plain text with code in backticks, into reStructuredText with a list of parameters."""
    blocks = "\n".join(lines).split("\n\n")
    known = _parameters(thing)
    lines[:] = "\n\n".join(block if ">>>" in block else _listed(block, known) for block in blocks).split("\n")


def _parameters(thing: Any) -> set[str]:
    """The parameters of a function, or of what makes an instance of a class."""
    try:
        return set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return set()


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
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        f"`{part}`" if place % 2 else re.sub(r"([*|\\])|(?<=\w)(_)(?!\w)", r"\\\g<0>", part)
        for place, part in enumerate(parts)
    )


def plain_signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Name an alias alone where Sphinx writes TypeAliasForwardRef('Labels')."""
    plain = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
    return signature and plain.sub(r"\1", signature), returned and plain.sub(r"\1", returned)


def visit_math(self: Any, node: nodes.math | nodes.math_block) -> None:
    """Formulas as MathML, which browsers show by themselves: nothing is fetched."""
    from docutils.nodes import SkipNode, math_block
    from docutils.utils.math.latex2mathml import tex2mathml

    self.body.append(tex2mathml(node.astext(), as_block=isinstance(node, math_block)))
    raise SkipNode


def refuse_remote_files(app: Sphinx, problem: Exception | None) -> None:
    """A page that loads a script, style, font or picture from elsewhere is an error (Sphinx's event build-finished)."""
    from sphinx.errors import SphinxError

    remote = re.compile(r"""<(?:script|img|iframe)[^>]*src=["'](?:https?:)?//|<link[^>]*href=["'](?:https?:)?//""")
    found = [page.name for page in app.outdir.rglob("*.html") if remote.search(page.read_text(encoding="utf-8"))]
    if found and not problem:
        raise SphinxError(f"these pages load files from elsewhere: {', '.join(found)}")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("build-finished", refuse_remote_files)
    app.connect("source-read", fill_in)
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("autodoc-process-signature", plain_signature)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
