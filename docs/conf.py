"""How Sphinx builds these pages: offline."""

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

extensions = ["myst_parser"]
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
html_js_files = ["pages.js", "versions.js"]


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


def reveal_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Make a toctree of the list of pages in a comment, which a forge does not show (Sphinx's event source-read)."""
    source[0] = re.sub(r"<!-- contents\n(.*?)-->", r"```{toctree}\n:hidden:\n\n\1```", source[0], flags=re.DOTALL)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", reveal_contents)
    app.connect("build-finished", refuse_remote_files)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
