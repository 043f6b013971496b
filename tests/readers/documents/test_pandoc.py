"""What pandoc reads: papers, office files and marked-up texts as documents."""

from __future__ import annotations

import logging
import subprocess
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, strict_open_xml, written
from tests.readers.word import paragraph, run, word

from tagwright.readers.documents import pandoc
from tagwright.types import Document, Section

pytest.importorskip("pypandoc")

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
and more, see~\ref{sec:intro}.

Second one~\citep[p. 3]{low99}.
\begin{figure}\includegraphics[width=3cm]{a.png}\caption{A bee.}\end{figure}
\subsection*{Wings}
\begin{itemize}\item One \item Two\end{itemize}
\iffalse Old.\fi
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
                Section(
                    "Introduction", 1, ("First about honey bees and E=mc^2 and more, see.", "Second one.", "A bee.")
                ),
                Section("Wings", 2, ("One", "Two")),
                Section("End", 1, ("Done.",)),
            ),
            {"author": ("Ann Müller", "Bo Low"), "keyword": ("bees", "towns")},
        )
    ]


def test_the_format_may_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, PAPER, "a.txt")
    assert read(path)[0].title == r"\documentclass[11pt]{article} % of 2026"
    assert read(path, format="latex")[0].title == "How Bees Fly over Towns"


def test_front_matter_of_publishers_is_no_text(tmp_path: Path) -> None:
    text = r"""\begin{document}\begin{frontmatter}\title{Bees\tnoteref{t}}\tnotetext[t]{Funded.}\author{A. Low\fnref{f}}
    \ead{a@example.org}\affiliation[a]{organization={Owls}}\begin{abstract}They fly.\end{abstract}
    \begin{keyword}wings \sep wax\end{keyword}\end{frontmatter}\end{document}"""
    [document] = read(written(tmp_path, text, "a.tex"))
    assert (document.title, document.abstract, document.sections) == ("Bees", "They fly.", ())
    assert document.metadata == {"author": ("A. Low",), "keyword": ("wings", "wax")}


def test_other_files_are_never_read_and_that_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(tmp_path, "secret", "b.tex")
    with caplog.at_level(logging.WARNING):
        [document] = read(written(tmp_path, "\\input{b}\nText.\n\\include{b}", "a.tex"))
    assert document.abstract == "Text."
    assert caplog.messages[0].endswith(r"a.tex: other files that it includes (\input, 2 times) are not read")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.md", "# Bees\nThey *fly*[^1].\n## Wings\n- Four.\n- H~2~O\n\n[^1]: High."),
        (
            "a.rst",
            "====\nBees\n====\n\nThey *fly* [1]_.\n\nWings\n-----\n\n- Four.\n- H\\ :sub:`2`\\ O\n\n.. [1] High.",
        ),
        ("a.org", "#+title: Bees\n\nThey /fly/[fn::High.].\n\n* Wings\n\n- Four.\n- H_{2}O"),
        ("a.wiki", "= Bees =\nThey ''fly''<ref>High.</ref>.\n== Wings ==\n* Four.\n* H<sub>2</sub>O"),
        (
            "a.rtf",
            r"{\rtf1 {\outlinelevel0 Bees\par}They {\i fly}{\footnote High.}.\par{\outlinelevel1 Wings\par}Four.\par "
            r"H{\sub 2}O\par}",
        ),
        ("a.typ", "= Bees\nThey _fly_#footnote[High.].\n== Wings\n- Four.\n- H#sub[2]O"),
        (
            "a.tex",
            r"\title{Bees}They \emph{fly}\footnote{High.}.\section{Wings}\begin{itemize}"
            r"\item Four.\item H\textsubscript{2}O\end{itemize}",
        ),
    ],
)
def test_each_format_of_text_gives_the_same_document(tmp_path: Path, file: str, content: str) -> None:
    [document] = read(written(tmp_path, content, file))
    assert (document.title, document.abstract) == ("Bees", "They fly.\n\nHigh.")
    assert document.sections == (Section("Wings", 1, ("Four.", "H2O")),)


@pytest.mark.parametrize("name", ["odt", "epub", "pptx", "docx"])
def test_office_files_are_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"a.{name}"
    text = b"# Wings\n\nThey *fly*.\n\n- Four.\n- H~2~O\n"
    program = pandoc.find_program(path)
    subprocess.run([program, "--from=markdown", f"--to={name}", f"--output={path}"], input=text, check=True)
    [document] = read(path)
    words = f"{document.title} {document.text}".split()
    assert {"Wings", "They", "Four."} <= {*words}


def test_a_notebook_is_read(tmp_path: Path) -> None:
    cell = '{"cell_type": "markdown", "metadata": {}, "source": ["# Bees\\n", "They fly."]}'
    path = written(tmp_path, f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}', "a.ipynb")
    assert (read(path)[0].title, read(path)[0].abstract) == ("Bees", "They fly.")


@pytest.mark.parametrize(
    ("text", "title", "abstract", "headings"),
    [
        ("Bees\n====\nFly.\n\nWings\n-----\n", "Bees", "Fly.", ["Wings"]),
        ("[badge]\n\n# Bees\nFly.", "Bees", "[badge]\n\nFly.", []),
        ("Bees\nFly.\n\n## Wings", "Bees", "Fly.", ["Wings"]),
        ("## Bees ##\nC#\n\n# C#", "Bees", "C#", ["C#"]),
        ("---\nname: x: y\ntitle: 'Bees'\n---\n# Bees\nFly.", "Bees", "Fly.", []),
        ("---\ntitle: Bees\n---\nFly.\n## Wings", "Bees", "Fly.", ["Wings"]),
        ("# Shell\n\n```sh\n# comment\n```\nafter", "Shell", "# comment\n\nafter", []),
        ("# A\n<div>b<!-- c --></div>\n\n<!-- d -->\n\n| e | f |\n|---|---|\n| g | h |", "A", "b\n\ne f\n\ng h", []),
        ("#\n", "", "", []),
        ("\n", "", "", []),
    ],
)
def test_titles_and_headings_of_markdown(
    tmp_path: Path, text: str, title: str, abstract: str, headings: list[str]
) -> None:
    [document] = read(written(tmp_path, text, "a.md"))
    assert (document.title, document.abstract) == (title, abstract)
    assert [section.heading for section in document.sections] == headings


def test_a_word_file_is_read_whole(tmp_path: Path) -> None:
    cell = "<w:tc><w:p>{}</w:p></w:tc>"
    row = f"<w:tr>{cell.format(run('Bee'))}{cell.format(run('7'))}</w:tr>"
    body = (
        paragraph("How bees fly", "Title") + paragraph("Bees fly.") + paragraph("Methods", "Heading1")
        + paragraph("We looked") + paragraph("Queens", "Heading3") + f"<w:tbl>{row}</w:tbl>"
        + paragraph("Results", "Heading1")
    )  # fmt: skip
    properties = "<d:creator>Ann Müller; Bo Low</d:creator><c:keywords>wings, honey</c:keywords>"
    content = word(body, properties=properties)
    for name, made in {
        "a.docx": content,
        "strict.docx": strict_open_xml(content),
        "a.docm": word(body, properties=properties, kind="vnd.ms-word.document.macroEnabled"),
        "a.dotx": word(body, properties=properties, kind="vnd.ms-word.template.macroEnabledTemplate"),
    }.items():
        [document] = read(written(tmp_path, made, name), format="docx")
        assert (document.title, document.abstract) == ("How bees fly", "Bees fly.")
        assert document.sections == (
            Section("Methods", 1, ("We looked",)),
            Section("Queens", 2, ("Bee 7",)),
            Section("Results", 1),
        )
        assert document.metadata == {"author": ("Ann Müller", "Bo Low"), "keyword": ("wings", "honey")}


BOX = (
    "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><w:txbxContent><w:p><w:r><w:t>Honey bees</w:t>"
    "</w:r></w:p></w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict><w:txbxContent><w:p><w:r>"
    "<w:t>Honey bees</w:t></w:r></w:p></w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
)
CONTENTS = "<w:sdtPr><w:docPartObj><w:docPartGallery w:val='{}'/></w:docPartObj></w:sdtPr>"
PROMPT = "<w:sdtPr><w:showingPlcHdr/></w:sdtPr>"


def field(properties: str, content: str) -> str:
    return f"<w:sdt>{properties}<w:sdtContent>{content}</w:sdtContent></w:sdt>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<w:p>{run('The or')}{BOX}{run('chard')}</w:p>", "The orchard\n\nHoney bees"),
        (f"<w:tbl><w:tr><w:tc><w:p>{run('Wax')}<w:ins>{BOX}</w:ins></w:p></w:tc></w:tr></w:tbl>", "Wax Honey bees"),
        (field(CONTENTS.format("Table of Contents"), paragraph("Wings 3")) + paragraph("They fly."), "They fly."),
        (field(CONTENTS.format("Cover Pages"), paragraph("Bees")), "Bees"),
        (field(PROMPT, paragraph("Click here.")) + f"<w:p>{run('In: ')}{field(PROMPT, run('Choose.'))}</w:p>", "In:"),
        (
            f"<w:p>{run('bees')}<w:del w:id='1'><w:r><w:delText>no</w:delText></w:r></w:del><w:moveFrom w:id='2'>"
            f"{run('no')}</w:moveFrom><w:ins w:id='3'>{run(' fly')}</w:ins>{run('no', '<w:vanish/>')}</w:p>",
            "bees fly",
        ),
        (
            f"<w:p><w:hyperlink w:anchor='x'>{run('honey')}</w:hyperlink><w:fldSimple w:instr='no'>{run('bees')}"
            "</w:fldSimple></w:p>",
            "honeybees",
        ),
        (f"<w:customXml>{paragraph('They fly.')}</w:customXml>", "They fly."),
        (f"<w:p>{run('They fly')}<w:r><w:footnoteReference w:id='2'/></w:r>{run('.')}</w:p>", "They fly.\n\nHigh."),
    ],
)
def test_of_a_word_file_what_is_written_is_read_once(tmp_path: Path, body: str, text: str) -> None:
    content = word(body, notes=f"<w:footnote w:id='2'>{paragraph('High.')}</w:footnote>")
    assert read(written(tmp_path, content, "a.docx"))[0].abstract == text


def test_a_word_file_without_properties_has_no_title_that_nobody_wrote(tmp_path: Path) -> None:
    assert read(written(tmp_path, word(paragraph("Bees fly.")), "a.docx"))[0].title == ""
    titled = word(paragraph("They fly."), properties="<d:title>Bees</d:title>")
    assert read(written(tmp_path, titled, "a.docx"))[0].title == "Bees"


def test_parts_of_other_formats_are_not_read_and_that_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Programs that make Word files of web pages put the page into one, which only Word reads."""
    content = word("<w:altChunk/>" + paragraph("They fly."))
    assert read(written(tmp_path, content, "a.docx"))[0].abstract == "They fly."
    assert caplog.messages[0].endswith("a.docx: holds parts of other formats (1), which are not read; save it in Word")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty, expected documents"),
        (b"PK\x03\x04 noise", "is no Word file (.docx), or a damaged one (File is not a zip file)"),
        (word("")[:1000], "is no Word file (.docx), or a damaged one (File is not a zip file)"),
        (word("<w:p>"), "a.docx: cannot be read as docx ("),
        (b"%PDF-1.4", "is no Word file"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    assert problem in refusal(written(tmp_path, content, "a.docx"))


def test_entities_are_never_resolved(tmp_path: Path) -> None:
    secret = written(tmp_path, "a secret", "secret.txt").as_uri()
    names = "abcdefghx"
    bomb = "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names))
    for declared in (f'<!ENTITY x SYSTEM "{secret}">', f'<!ENTITY a "aaaaaaaaaa">{bomb}'):
        for body in (paragraph("Bees &x;"), paragraph("Bees &x;") + BOX):
            path = written(tmp_path, word(body, before=f"<!DOCTYPE d [{declared}]>"), "a.docx")
            assert refusal(path).startswith("a.docx: ")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, word(paragraph("bees " * 10_000)), "a.docx")
    with zipfile.ZipFile(path) as parts:
        xml = sum(part.file_size for part in parts.infolist())
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", str(path.stat().st_size // 10 - 1))
    assert "bytes, the limit for one document; to read it, raise TAGWRIGHT_MAX_DOCUMENT_SIZE" in refusal(path)
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", str(xml // 4 - 1))
    assert "bytes, more than 4 times the limit; to read it, raise TAGWRIGHT_MAX_DOCUMENT_SIZE" in refusal(path)


def test_time_memory_and_output_of_the_program_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "{" * 20_000, "a.tex")
    monkeypatch.setattr(pandoc, "MEMORY", "30m")
    assert refusal(path) == "a.tex: takes more than 30mB of memory to read"
    monkeypatch.setattr(pandoc, "SECONDS", 0.01)
    assert refusal(path) == "a.tex: takes more than 0.01 s to read"
    monkeypatch.undo()
    monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", "100")
    copies = r"\newcommand{\a}{\b\b\b\b\b\b\b\b\b}\newcommand{\b}{bees bees bees bees }\a"
    assert "the limit for one document" in refusal(written(tmp_path, copies, "b.tex"))


def test_without_pandoc_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    problem = 'reading it needs pandoc, which is not installed; pip install "tagwright[documents]"'
    for name, content in {
        "a.tex": b"x",
        "a.md": b"x",
        "a.docx": word(""),
        "a.bib": b"@book{a, title={{B}ees}}",
    }.items():
        assert refusal(written(tmp_path, content, name)) == f"{name}: {problem}"
