from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.reading import read, written

from tagwright.data.corpus import Corpus
from tagwright.readers.documents import html
from tagwright.types import Section

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>How bees fly | Journal of Bees</title>
<meta name="citation_title" content="How bees fly"><meta name="citation_author" content="Ann M&uuml;ller">
<meta name="citation_author" content="Bo Low"><meta name="citation_journal_title" content="Journal of Bees">
<meta name="keywords" content="wings, honey"><meta name="citation_doi" content="doi:10.1000/BEES">
<style>h1 { color: red }</style><script>document.write("<h2>no</h2>")</script></head>
<body><nav><h2>Menu</h2><ul><li>Home<li>News</ul></nav>
<main><h1>How <em>bees</em>
 fly</h1>
<p>Bees fly&nbsp;high &amp; far.<p>So they do.
<h2>Wings</h2><div>Four.<br>Thin.<br><br>Clear.</div>
<h4>Veins</h4><ul><li>one<li>two</ul><svg><title>icon</title></svg>
<table><tr><th>Bee</th><td>7</td></tr><tr><td>Ant</td><td>0</td></tr></table>
<h2>End</h2></main>
<footer><p>Imprint</p></footer></body></html>"""


def test_a_page_is_read_whole(tmp_path: Path) -> None:
    [document] = read(written(tmp_path, PAGE, "a.html"))
    assert (document.id, document.title) == ("10.1000/bees", "How bees fly")
    assert document.abstract == "Bees fly high & far.\n\nSo they do."
    assert document.sections == (
        Section("Wings", 1, ("Four. Thin.", "Clear.")),
        Section("Veins", 2, ("one", "two", "Bee 7", "Ant 0")),
        Section("End", 1),
    )
    assert document.metadata == {
        "author": ("Ann Müller", "Bo Low"),
        "venue": ("Journal of Bees",),
        "keyword": ("wings", "honey"),
    }


@pytest.mark.parametrize(
    ("text", "title", "abstract", "headings"),
    [
        ("<title>Bees</title><p>Fly.", "Bees", "Fly.", []),
        (
            "<h1>Bees</h1><h1>Wings</h1>Four.<h3>Left</h3><h2>Right</h2>",
            "Bees",
            "",
            [("Wings", 1), ("Left", 2), ("Right", 2)],
        ),
        ("<h2>Wings</h2><p>Four.<h1>Bees</h1>", "", "", [("Wings", 1), ("Bees", 1)]),
        ("<title>Bees - Journal</title><h2>Bees</h2>Fly.<h3>Wings", "Bees", "Fly.", [("Wings", 1)]),
        ("just text", "", "just text", []),
        ("<p>a<div>b<nav>menu</div></nav></p></main>c", "", "a\n\nb\n\nc", []),
        ("<article>some text<footer>by Ann</footer></article><p>more", "", "some text\n\nmore", []),
        ("<article>text</article><p>more of it", "", "text\n\nmore of it", []),
        ("<main>some <article>text</article></main><p>more", "", "some\n\ntext", []),
        ("<h2>A<p>b", "", "", [("A", 1)]),
        ("<p>a<![if !IE]>b<!-- c --><![endif]></p>", "", "ab", []),
        ("<p>a < b<p>c <br", "", "a < b\n\nc", []),
    ],
)
def test_pages_that_are_made_otherwise(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    title: str,
    abstract: str,
    headings: list[tuple[str, int]],
) -> None:
    monkeypatch.setattr(html, "find_spec", lambda _: None)
    [document] = read(written(tmp_path, text, "a.htm"))
    assert (document.title, document.abstract) == (title, abstract)
    assert [(section.heading, section.level) for section in document.sections] == headings


@pytest.mark.parametrize(
    "content",
    [
        "<meta charset=latin1><p>Bäume “hier”".encode("cp1252"),
        '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>Пчела'.encode("koi8-r"),
        "<p>Bäume".encode("utf-16"),
        "<p>Bäume".encode("utf-8-sig"),
        '<?xml version="1.0" encoding="iso-8859-2"?><html><p>Bäume</p></html>'.encode("iso-8859-2"),
        "<meta charset=gb2312><p>朱镕基".encode("gbk"),
        "<meta charset=klingon><p>Bäume".encode(),
    ],
)
def test_pages_say_their_encoding(tmp_path: Path, content: bytes) -> None:
    """By the names of browsers: gb2312 is gbk, and what they do not know is not heeded."""
    assert read(written(tmp_path, content, "a.html"))[0].abstract in {"Bäume “hier”", "Пчела", "Bäume", "朱镕基"}


@pytest.mark.parametrize(
    ("page", "said", "encoding"),
    [("<p>Bären", "latin-1", "latin-1"), ("<meta charset=utf-8><p>Bären", "utf-8", "cp1252")],
)
def test_the_encoding_that_is_given_counts_unless_the_page_says_and_is_utf8(
    tmp_path: Path, page: str, said: str, encoding: str
) -> None:
    [document] = Corpus.read(written(tmp_path, page.encode(said), "a.html"), encoding=encoding)
    assert document.abstract == "Bären"


NEWS = "<div class='related'><article><h3>More news</h3><p>The new tax law of the town.</p></article></div>"
TEXT = "Honey bees visit orchards and pollinate apple trees in long spirals."
STORY = f"<div id='content'><h1>How bees fly</h1><p>{TEXT}</p></div>"


def test_an_article_that_is_not_most_of_the_page_is_not_its_text(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    [document] = read(written(tmp_path, f"<html><body>{STORY}{NEWS}</body></html>", "a.html"))
    assert (document.title, document.abstract, document.sections) == ("How bees fly", TEXT, ())


def test_main_text_that_is_too_short_to_be_it_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trafilatura")
    monkeypatch.setattr("trafilatura.extract", lambda *_, **__: "The new tax law of the town.")
    [document] = read(written(tmp_path, f"<html><body>{STORY}{NEWS}</body></html>", "a.html"))
    assert document.abstract == TEXT


def test_without_the_extra_teasers_are_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "find_spec", lambda _: None)
    [document] = read(written(tmp_path, f"<html><body>{STORY}{NEWS}</body></html>", "a.html"))
    assert document.abstract == TEXT
    assert document.sections == (Section("More news", 1, ("The new tax law of the town.",)),)


def test_a_page_is_known_by_its_content(tmp_path: Path) -> None:
    assert read(written(tmp_path, PAGE, "page"))[0].title == "How bees fly"
    assert read(written(tmp_path, "<html><p>Bees.</p></html>", "a.xml"))[0].abstract == "Bees."


def test_what_is_between_paragraphs_of_the_main_text_is_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trafilatura")
    """Trafilatura leaves out short lines, tables and headings within a text."""
    monkeypatch.setattr("trafilatura.extract", lambda *_, **__: f"{TEXT}\nThey sting, and nobody knows why.")
    page = (
        f"<div>Log in</div><h2>Bees</h2><p>{TEXT}</p><div>Four.</div><h3>End</h3><p>They sting, and nobody knows why."
    )
    [document] = read(written(tmp_path, f"<title>Bees</title>{page}</p><div>Imprint", "a.html"))
    assert (document.title, document.abstract) == ("Bees", f"{TEXT}\n\nFour.")
    assert document.sections == (Section("End", 1, ("They sting, and nobody knows why.",)),)
