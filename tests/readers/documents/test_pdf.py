from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.readers.printed import Set, page, pdf
from tests.readers.reading import outcome, read, refusal, same_folder, written

from tagwright.readers.documents.pdf_layout import Line, to_blocks
from tagwright.types import Document, Section

TEXT = "Bees fly over the old town and look for hon-\ney in small (wooden) boxes that somebody\nhas put there."
MORE = "Nobody has told them of it.\nThey found it themselves."
FIRST = page(
    ("How bees fly\nover old towns", 18, True),
    "Ann Müller, Bo Low",
    ("Abstract", 12, True),
    TEXT,
    ("1 Introduction", 12, True),
    TEXT,
    MORE,
    ("1.1 Wings of\nall kinds", 11, True),
    "Four of them are enough.",
)
SECOND = page(("2 Results", 12, True), MORE, ("Table 1: A caption in bold type", 10, True), MORE, ("3 End", 12, True))
WHOLE = "Bees fly over the old town and look for honey in small (wooden) boxes that somebody has put there."
LINE = "Nobody has told them of it. They found it themselves."
SECTIONS = (
    Section("", 1, ("Ann Müller, Bo Low",)),
    Section("1 Introduction", 1, (WHOLE, LINE)),
    Section("1.1 Wings of all kinds", 2, ("Four of them are enough.",)),
    Section("2 Results", 1, (LINE, "Table 1: A caption in bold type", LINE)),
    Section("3 End", 1),
)


def test_headings_are_told_by_type(tmp_path: Path) -> None:
    [document] = read(written(tmp_path, pdf([FIRST, SECOND]), "a.pdf"))
    assert document == Document(str(tmp_path / "a.pdf"), "How bees fly over old towns", WHOLE, SECTIONS)


def test_headings_are_told_by_the_outline(tmp_path: Path) -> None:
    """In one type with the text; the entry on top is the title; one stands nowhere and goes where its page begins."""
    plain = [[line._replace(size=10, bold=False) for line in lines] for lines in (FIRST, SECOND)]
    outline = [("How bees fly over old towns", 0, -1), ("Abstract", 0, 0), ("Introduction", 0, 0),
               ("Wings of all kinds", 0, 2), ("Discussion", 1, 0), ("Results", 1, 0), ("End", 1, 0)]  # fmt: skip
    content = pdf(plain, outline, title="How bees fly over old towns")
    [document] = read(written(tmp_path, content, "a.pdf"))
    assert (document.title, document.abstract) == ("How bees fly over old towns", WHOLE)
    assert [(section.heading, section.level) for section in document.sections] == [
        ("", 1), ("Introduction", 1), ("Wings of all kinds", 2), ("Discussion", 1), ("Results", 1), ("End", 1),
    ]  # fmt: skip
    assert document.sections[4].paragraphs[0].startswith("Nobody")


def test_an_outline_that_is_not_in_the_text_is_not_believed(tmp_path: Path) -> None:
    content = pdf([FIRST, SECOND], [("Page 1", 0, -1), ("Page 2", 1, -1)], title="paper-final.doc")
    assert read(written(tmp_path, content, "a.pdf"))[0].sections == SECTIONS


def test_numbers_tell_depth_where_type_does_not() -> None:
    texts = ["Text text text.", "1 Bees", "1.1 Wings", "1.1.2 Veins", "2 Ants", "References"]
    lines = [Line(0, text, 72, 700 - 20 * place, 10, not text.startswith("Text")) for place, text in enumerate(texts)]
    title, blocks = to_blocks([*lines, *(line._replace(text="long " * 9, bold=False) for line in lines)], [], "")
    assert title == ""
    assert [(depth, text) for depth, text in blocks if depth] == [
        (1, "1 Bees"), (2, "1.1 Wings"), (3, "1.1.2 Veins"), (1, "2 Ants"), (1, "References"),
    ]  # fmt: skip


def test_tables_of_contents_are_left_out(tmp_path: Path) -> None:
    content = pdf([page(("Bees", 16, False), "1 Wings . . . . . . . 7", "2 Legs...........xi", "They fly ...")])
    assert read(written(tmp_path, content, "a.pdf"))[0].abstract == "They fly ..."


def test_running_heads_and_page_numbers_are_left_out(tmp_path: Path) -> None:
    pages = [
        [Set(f"Journal of Bees {number}", 790), Set(f"Page of text number {word}.", 400), Set(str(number), 20)]
        for number, word in enumerate(("one", "two", "three", "four"))
    ]
    [document] = read(written(tmp_path, pdf(pages), "a.pdf"))
    assert document.abstract == "\n\n".join(f"Page of text number {word}." for word in ("one", "two", "three", "four"))


@pytest.mark.parametrize("order", ["before", "after", "last"])
@pytest.mark.parametrize("margin", [50, 560])
@pytest.mark.parametrize("step", [1, 5])
def test_line_numbers_are_left_out(tmp_path: Path, order: str, margin: float, step: int) -> None:
    """Written before each line, after it ("Discussion340"), or all at the end; a number in the text stays."""
    rows = ["Introduction", "Bees fly over the old town", "and look for 12", "flowers.", "Discussion",
            "They found them all at once", "in the old town, which is why"]  # fmt: skip
    text = [Set(row, 700 - 20 * place, bold=row in ("Introduction", "Discussion")) for place, row in enumerate(rows)]
    numbers = [Set(str(336 + step * place), line.y, 6, x=margin) for place, line in enumerate(text)]
    pairs = {"before": zip(numbers, text, strict=True), "after": zip(text, numbers, strict=True)}
    lines = [*text, *numbers] if order == "last" else [line for pair in pairs[order] for line in pair]
    [document] = read(written(tmp_path, pdf([lines, [Set("it matters.", 700)]]), "a.pdf"))
    assert document.sections == (
        Section("Introduction", 1, ("Bees fly over the old town and look for 12 flowers.",)),
        Section("Discussion", 1, ("They found them all at once in the old town, which is why it matters.",)),
    )


def test_numbers_that_do_not_count_the_lines_stay(tmp_path: Path) -> None:
    years = ["1990", "1850", "2001", "1723", "1999", "1912"]
    lines = [Set(f"Bees of {word}", 700 - 12 * place) for place, word in enumerate(("one", "two", "three", "four"))]
    content = pdf(
        [[*lines, *(Set(year, 600 - 12 * place, x=40) for place, year in enumerate(years)), Set("End.", 400)]]
    )
    [document] = read(written(tmp_path, content, "a.pdf"))
    assert all(year in document.text for year in years)


def test_running_heads_of_a_short_paper_are_left_out_wherever_they_are_written(tmp_path: Path) -> None:
    """Two pages; the banner of three lines on top is written last, the page number first."""
    texts = ["Bees fly over the old town and look for honey.", "Ants walk under the new one and look for sugar."]
    pages = [
        [
            Set(f"- {number} -", 20),
            *(Set(f"{text[: 20 * place + 10]}.", 600 - 40 * place) for place in range(3)),
            Set("Low et al.", 790),
            Set("Preprint of 2026, not peer reviewed", 778),
            Set(f"doi 10.1/{number}", 766),
        ]
        for number, text in enumerate(texts, 1)
    ]
    [document] = read(written(tmp_path, pdf(pages), "a.pdf"))
    said = [f"{text[: 20 * place + 10]}." for text in texts for place in range(3)]
    assert " ".join(document.abstract.split()) == " ".join(said)


def test_lines_that_recur_on_one_page_only_stay() -> None:
    years = [Line(0, text, 50.0, 700.0 - 12 * row, 10.0, bold=False) for row, text in enumerate(["1990 to 1995"] * 3)]
    yes = [Line(0, "yes", 50.0 + 100 * column, 300.0, 10.0, bold=False) for column in range(3)]
    _, blocks = to_blocks([*years, *yes], [], "")
    text = " ".join(paragraph for _, paragraph in blocks)
    assert (text.count("1990"), text.count("yes")) == (3, 3)


def test_without_two_lines_of_text_in_a_row_no_gap_begins_a_paragraph() -> None:
    lines = [
        Line(page, text, 50.0, 400.0, 10.0, bold=False)
        for page, text in enumerate(["Bees fly over", "the old", "town."])
    ]
    lines.insert(1, lines[0]._replace(text="and see", y=380.0, size=10.4))
    _, blocks = to_blocks(lines, [], "")
    assert blocks == [(0, "Bees fly over and see the old town.")]


@pytest.mark.parametrize(
    ("lines", "whole"),
    [
        (("Vor-", "und Nachteile"), "Vor- und Nachteile"),
        (("the pre- and postwar years",), "the pre- and postwar years"),
        (("jazykově-", "česká slova"), "jazykověčeská slova"),
        (("The Bee-", "Gees"), "The Bee- Gees"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_goes_where_the_word_goes_on(lines: tuple[str, ...], whole: str) -> None:
    set_lines = [Line(0, text, 50.0, 400.0 - 12 * row, 10.0, bold=False) for row, text in enumerate(lines)]
    assert to_blocks(set_lines, [], "") == ("", [(0, whole)])


def test_a_paragraph_of_many_lines_is_joined_in_one_go() -> None:
    lines = [Line(0, "bees fly", 50.0, 300_000.0 - 12 * row, 10.0, bold=False) for row in range(20_000)]
    assert to_blocks(lines, [], "") == ("", [(0, " ".join(["bees fly"] * 20_000))])


def test_a_title_of_two_slides_stays(tmp_path: Path) -> None:
    pages = [page((title, 18, True), f"Bees {word} over the old town.")
             for title, word in (("Bees", "fly"), ("Results", "look"), ("Results", "land"))]  # fmt: skip
    [document] = read(written(tmp_path, pdf(pages), "a.pdf"))
    assert [section.heading for section in document.sections].count("Results") == 2


def test_a_paragraph_goes_on_over_columns_and_pages_until_it_ends(tmp_path: Path) -> None:
    left = [
        Set("Bees fly over the", 100),
        Set("old town and", 88),
        Set("look for", 700, x=300),
        Set("honey.", 688, x=300),
    ]
    [document] = read(written(tmp_path, pdf([left, [Set("Ants do not.", 700)]]), "a.pdf"))
    assert document.abstract == "Bees fly over the old town and look for honey.\n\nAnts do not."


def test_an_abstract_may_name_itself(tmp_path: Path) -> None:
    content = pdf(
        [page(("Bees", 16, False), "Ann Müller", "Abstract - Bees fly.", ("Wings", 14, False), TEXT)], title="Untitled"
    )
    [document] = read(written(tmp_path, content, "a.pdf"))
    assert (document.abstract, document.sections[0].paragraphs) == ("Bees fly.", ("Ann Müller",))


def test_five_hundred_pages(tmp_path: Path) -> None:
    names = ["".join(chr(ord("a") + int(digit)) for digit in str(number)) for number in range(500)]
    pages = [
        page((f"{number} Chapter", 14, True), f"Bee {name} flies\nto {name}.", f"It calls {name}\nits {name}.")
        for number, name in enumerate(names)
    ]
    outline = [(f"{number} Chapter", number, -1) for number in range(500)]
    for content in (pdf(pages), pdf(pages, outline)):
        [document] = read(written(tmp_path, content, "a.pdf"))
        assert [section.heading for section in document.sections] == [entry[0] for entry in outline]
        assert [section.paragraphs for section in document.sections] == [
            (f"Bee {name} flies to {name}.", f"It calls {name} its {name}.") for name in names
        ]


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


@pytest.mark.parametrize(
    ("said", "expected"),
    [("(anonymous)", {}), ("anonymous", {}), ("Ann M\u00fcller and Bo Low", {"author": ("Ann M\u00fcller", "Bo Low")})],
)
def test_the_program_that_wrote_a_file_is_not_its_author(
    tmp_path: Path, said: str, expected: dict[str, tuple[str, ...]]
) -> None:
    """ReportLab writes (anonymous) where no author is given."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(written(tmp_path, pdf([page("Bees fly.")]), "a.pdf")))
    writer.add_metadata({"/Author": said})
    writer.write(tmp_path / "a.pdf")
    [document] = read(tmp_path / "a.pdf")
    assert document.metadata == expected


def test_a_file_with_a_password_is_refused(tmp_path: Path) -> None:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(written(tmp_path, pdf([FIRST]), "b.pdf")))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(tmp_path / "a.pdf")
    assert refusal(tmp_path / "a.pdf") == "a.pdf: is encrypted; save it without a password"


def test_a_page_that_is_damaged_is_said_and_the_others_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pypdf import PageObject

    extract = PageObject.extract_text

    def broken(self: PageObject, **options: object) -> str:
        if self.page_number == 0:
            raise KeyError("/Font")
        return extract(self, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(PageObject, "extract_text", broken)
    with caplog.at_level(logging.WARNING):
        [document] = read(written(tmp_path, pdf([FIRST, SECOND]), "a.pdf"))
    assert [section.heading for section in document.sections] == ["2 Results", "3 End"]
    assert [message.rpartition("/a.pdf")[2] for message in caplog.messages] == [": page 1 cannot be read ('/Font')"]


def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    path = written(tmp_path, pdf([FIRST]), "a.pdf")
    rest = "a.pdf: reading PDF needs pypdf, which is not installed;"
    assert refusal(path).endswith(rest + ' pip install "tagwright[pdf]"')


@same_folder
@given(st.integers(0, 4000), st.integers(0, 4000), st.binary(max_size=9))
def test_a_file_with_bytes_cut_out_is_read_or_refused(tmp_path: Path, start: int, end: int, noise: bytes) -> None:
    content = pdf([FIRST, SECOND], [("1 Introduction", 0, -1), ("2 Results", 1, -1)])
    path = written(tmp_path, content[:start] + noise + content[end:], "a.pdf")
    result = outcome(path)
    assert result.startswith(str(path)) if isinstance(result, str) else result
