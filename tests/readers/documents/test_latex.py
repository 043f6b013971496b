from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.readers.documents.latex import converter, known_macros
from tagwright.types import Document, Section

PAPER = r"""\documentclass[11pt]{article} % of 2026
\usepackage{amsmath}
\newcommand{\bees}{honey bees}
\title[Bees]{How \emph{Bees} Fly\thanks{Funded by nobody.}\\ over Towns}
\author{Ann M\"uller \and Bo Low}
\begin{document}
\maketitle
\begin{abstract}
Bees fly \cite{low99}. % a comment
They cost 5\,\%.
\end{abstract}
\keywords{bees, towns}
\section{Introduction}\label{sec:intro}
First about \bees{} and $E=mc^2$
and more.

Second one~\citep[p. 3]{low99}.
\begin{figure}\includegraphics[width=3cm]{a.png}\caption{A bee.}\end{figure}
\subsection*{Wings}
\begin{itemize}\item One \item Two\end{itemize}
\section{End}
Done.
\begin{thebibliography}{9}\bibitem{low99} Low, 1999.\end{thebibliography}
\end{document}
"""


def test_a_paper_has_title_abstract_sections_and_metadata(tmp_path: Path) -> None:
    assert read(written(tmp_path, PAPER, "a.tex")) == [
        Document(
            str(tmp_path / "a.tex"),
            "How Bees Fly over Towns",
            "Bees fly. They cost 5 %.",
            (
                Section("Introduction", 1, ("First about honey bees and E=mc^2 and more.", "Second one. A bee.")),
                Section("Wings", 2, ("One Two",)),
                Section("End", 1, ("Done.",)),
            ),
            {"author": ("Ann Müller", "Bo Low"), "keyword": ("bees", "towns")},
        )
    ]


def test_the_format_may_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, PAPER, "a.txt")
    assert read(path)[0].title == r"\documentclass[11pt]{article} % of 2026"
    assert read(path, format="latex")[0].title == "How Bees Fly over Towns"


def test_other_files_are_never_read_and_that_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(tmp_path, "secret", "b.tex")
    with caplog.at_level(logging.WARNING):
        [document] = read(written(tmp_path, "\\input{b}\nText.\n\\include{b}", "a.tex"))
    assert document.abstract == "Text."
    assert caplog.messages[0].endswith(r"a.tex: other files that it includes (\input, 2 times) are not read")


def test_macros_cannot_grow_without_end(tmp_path: Path) -> None:
    """Each is written out once, and those in it are not: "a" stands for two "b", not for four "c"."""
    content = r"\newcommand{\a}{\b\b}\newcommand{\b}{ccc}\a \b."
    assert "ccc." in read(written(tmp_path, content, "a.tex"))[0].abstract
    assert len(read(written(tmp_path, content, "a.tex"))[0].abstract) < 20


def test_braces_nested_too_deep_are_refused(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "{" * 20_000, "a.tex")).startswith("a.tex: is no LaTeX file, or a damaged one (")


def test_a_link_is_its_text(tmp_path: Path) -> None:
    text = r"\section{At \href{https://e.org/a}{our site}} See \href[page=2]{https://e.org/b}{the \emph{data}}."
    [section] = read(written(tmp_path, text, "a.tex"))[0].sections
    assert (section.heading, section.paragraphs) == ("At our site", ("See the data.",))


def test_no_macro_that_the_converter_knows_makes_it_fail() -> None:
    """Without arguments, with three, and with too few at the end of the file; where it fails, arguments are kept."""
    from pylatexenc.latex2text import get_default_latex_context_db
    from pylatexenc.latexwalker import LatexWalker

    context, text = get_default_latex_context_db(), converter()
    names = {name for category in context.categories() for name in context.d[category]["macros"]}
    assert {"href", "frac", "textbf"} <= names
    for name in names:
        for latex in (rf"bees \{name}{{}}{{}}{{}} fly", rf"bees \{name}{{a}}{{b}}{{c}} fly", rf"bees fly \{name}"):
            nodes = LatexWalker(latex, known_macros(), tolerant_parsing=True).get_latex_nodes()[0]
            assert {"bees", "fly"} <= set(re.findall("bees|fly", text.nodelist_to_text(nodes))), latex


def test_a_macro_on_which_the_converter_fails_is_its_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pylatexenc.latex2text import LatexNodes2Text

    def fails(*_: object) -> str:
        raise IndexError("list index out of range")

    monkeypatch.setattr(LatexNodes2Text, "macro_node_to_text", fails)
    assert read(written(tmp_path, r"See \emph{our} \textbf{site}.", "a.tex"))[0].abstract == "See our site."


def test_what_a_condition_hides_is_no_text(tmp_path: Path) -> None:
    content = "Bees\\iffalse\nno \\textbf{no}\n\\fi fly \\iffalse no\\else far\\fi."
    assert read(written(tmp_path, content, "a.tex"))[0].abstract == "Bees fly far."
