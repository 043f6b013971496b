"""How Sphinx builds these pages: offline, with the command line and the Python interface taken from the sources."""

from __future__ import annotations

import re
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

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = f"Tagwright {__version__}"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_nav_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
}

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True


def fill_in(app: Sphinx, page: str, source: list[str]) -> None:
    """Put what the sources say of themselves in the place of a mark (Sphinx's event source-read)."""
    for mark, text in (("<!-- commands -->", commands), ("<!-- measures -->", measures)):
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
    from tagwright.evaluation.report.page import SENTENCES

    names = {kind: kind if kind == "answered" else f"{kind}@k" for kind in SENTENCES}
    return "\n".join(f"| {names[kind]} | {sentence} |" for kind, sentence in SENTENCES.items())


def plain_docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText would take for markup: docstrings are plain text with code in backticks."""
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            lines[number] = _escaped(line)


def _escaped(line: str) -> str:
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        f"`{part}`" if place % 2 else re.sub(r"([*|\\])|(?<=\w)(_)(?!\w)", r"\\\g<0>", part)
        for place, part in enumerate(parts)
    )


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
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
