from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.printed import Set, page, pdf
from tests.readers.reading import read, refusal, written

from tagwright.types import Document

FIXTURES = Path(__file__).parents[2] / "fixtures"
TEXT = "Bees fly over the old town and look for hon-\ney in small (wooden) boxes that somebody\nhas put there."
MORE = "Nobody has told them of it.\nThey found it themselves."
FIRST = page(
    ("How bees fly\nover old towns", 18, True),
    "Ann Müller, Bo Low",
    ("Abstract", 12, True),
    TEXT,
    ("1 Introduction", 12, True),
    MORE,
)
SECOND = page(("2 Results", 12, True), MORE, ("Table 1: A caption in bold type", 10, True))
WHOLE = "Bees fly over the old town and look for honey in small (wooden) boxes that somebody has put there."
LINE = "Nobody has told them of it. They found it themselves."
LAST = "Table 1: A caption in bold type"
PARAGRAPHS = ["Ann Müller, Bo Low", "Abstract", WHOLE, "1 Introduction", LINE, "2 Results", LINE, LAST]


@pytest.mark.parametrize("given", ["", "How bees fly over old towns", "paper-final.doc"])
def test_the_title_is_what_is_largest_and_the_rest_is_paragraphs(tmp_path: Path, given: str) -> None:
    [document] = read(written(tmp_path, pdf([FIRST, SECOND], title=given), "a.pdf"))
    assert document == Document(str(tmp_path / "a.pdf"), "How bees fly over old towns", "\n\n".join(PARAGRAPHS))


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    rows = [("Bees fly over", "look for honey"), ("the old town", "in wooden boxes"), ("and there", "every day.")]
    columns = [
        [Set(row[side], 700 - 12 * place, x=72 + 250 * side) for place, row in enumerate(rows)] for side in (0, 1)
    ]
    [document] = read(written(tmp_path, pdf([[Set("Title", 750, 18), *columns[0], *columns[1]]]), "a.pdf"))
    assert document.abstract == "Bees fly over the old town and there look for honey in wooden boxes every day."


def test_words_that_only_their_places_part_are_apart(tmp_path: Path) -> None:
    words = [Set(word, 700, x=72 + 60 * place) for place, word in enumerate(("Honey", "bees", "visit", "orchards"))]
    assert read(written(tmp_path, pdf([words]), "a.pdf"))[0].title == "Honey bees visit orchards"


@pytest.mark.parametrize(
    ("text", "share"),
    [("bees" * 30, "100"), ("Bees fly over the old town. " + "\ufffd" * 9, ""), ("bees fly " * 20, "")],
)
def test_text_of_glued_words_is_said_to_look_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, share: str
) -> None:
    path = written(tmp_path, pdf([[Set(text.replace("\ufffd", ""), 700)]]), "a.pdf")
    read(path)
    assert [f"{share}% of its characters" in message for message in caplog.messages] == [True] * bool(share)


def test_running_heads_and_page_numbers_are_left_out(tmp_path: Path) -> None:
    pages = [
        [Set(f"Journal of Bees {number}", 790), Set(f"Page of text number {word}.", 400), Set(str(number), 20)]
        for number, word in enumerate(("one", "two", "three", "four"))
    ]
    [document] = read(written(tmp_path, pdf(pages), "a.pdf"))
    assert f"{document.title}\n\n{document.abstract}" == "\n\n".join(
        f"Page of text number {word}." for word in ("one", "two", "three", "four")
    )


@pytest.mark.parametrize(
    ("lines", "whole"),
    [
        (("Vor-", "und Nachteile"), "Vor- und Nachteile"),
        (("the pre- and postwar years",), "the pre- and postwar years"),
        (("jazykov-", "ost slova"), "jazykovost slova"),
        (("The Bee-", "Gees"), "The Bee- Gees"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_goes_where_the_word_goes_on(
    tmp_path: Path, lines: tuple[str, ...], whole: str
) -> None:
    content = pdf([[Set(text, 400 - 12 * row) for row, text in enumerate(lines)]])
    assert read(written(tmp_path, content, "a.pdf"))[0].title == whole


def test_a_paragraph_goes_on_over_columns_and_pages_until_it_ends(tmp_path: Path) -> None:
    left = [
        Set("Bees fly over the", 100),
        Set("old town and", 88),
        Set("look for", 700, x=300),
        Set("honey.", 688, x=300),
    ]
    [document] = read(written(tmp_path, pdf([left, [Set("Ants do not.", 700)]]), "a.pdf"))
    assert (
        "\n\n".join((document.title, document.abstract))
        == "Bees fly over the old town and look for honey.\n\nAnts do not."
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "a.pdf: is empty, expected documents"),
        (pdf([[]]), "a.pdf: holds no text, perhaps only scanned pages; add a text layer with an OCR program"),
        (b"%PDF-1.4 noise", "a.pdf: is no PDF file, or a damaged one ("),
        (bytes(range(256)), "a.pdf: is no PDF file, or a damaged one ("),
        (b"<html><p>Not found</p></html>", "a.pdf: is no PDF file, or a damaged one ("),
    ],
)
def test_files_without_text_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    assert problem in refusal(written(tmp_path, content, "a.pdf"))


def test_a_file_that_opens_without_its_password_is_read() -> None:
    assert read(FIXTURES / "restricted.pdf")[0].title == "Bees fly in spirals."


def test_a_file_with_a_password_is_refused() -> None:
    assert refusal(FIXTURES / "locked.pdf") == "locked.pdf: is encrypted; save it without a password"
