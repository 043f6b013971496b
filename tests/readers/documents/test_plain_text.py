from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.reading import give_on_standard_input, read, refusal, written

from tagwright.readers.documents.plain_text import parse_text
from tagwright.types import Document


def test_the_first_line_of_a_text_is_its_title_unless_it_is_too_long() -> None:
    assert parse_text("Bees\nThey fly.\n") == Document("", "Bees", "They fly.")
    assert parse_text("word " * 60) == Document("", abstract=("word " * 60).strip())
    assert parse_text("") == Document("")


def test_a_folder_gives_its_texts_in_order_with_relative_paths_as_ids(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.md", "a/d.TXT", ".git/e.txt", "a/image.png"):
        written(tmp_path, "Title\nText.", name)
    written(tmp_path, "", "a/empty.txt")
    assert [document.id for document in read(tmp_path)] == ["a/c.md", "a/d.TXT", "a/empty.txt", "b.txt"]


def test_labels_lie_beside_the_texts_in_an_annif_folder(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        written(tmp_path, "Title\nText.", name)
    written(tmp_path, "<http://x/1>\tnetworking\tmore\n\tFlight\nBees\n\n<>\tcomputer science\n", "a.tsv")
    written(tmp_path, "not read\n", "a.key")
    written(tmp_path, "\ufeffnetworking\r\n\r\ncomputer science\r\n", "b.key")
    assert [document.labels for document in read(tmp_path)] == [
        ("http://x/1", "Flight", "Bees", "computer science"),
        ("networking", "computer science"),
        (),
    ]


def test_labels_lie_beside_html_as_beside_texts_and_are_no_documents_in_a_glob(tmp_path: Path) -> None:
    written(tmp_path, "<title>Bees</title><p>They fly.", "a.html")
    written(tmp_path, "<http://x/1>\tnetworking\n", "a.tsv")
    written(tmp_path, "<title>Wasps</title><p>They fly.", "b.html")
    written(tmp_path, "computer science\n", "b.key")
    for source in (str(tmp_path), str(tmp_path / "*"), str(tmp_path / "*.*")):
        assert [document.labels for document in read(source)] == [("http://x/1",), ("computer science",)]
    assert len(read(*sorted(tmp_path.iterdir()))) == 2  # as a shell names the files of a glob
    assert [document.title for document in read(tmp_path / "*.html")] == ["Bees", "Wasps"]


def test_a_table_beside_no_text_is_a_document_of_its_own_in_a_glob(tmp_path: Path) -> None:
    written(tmp_path, "id\ttitle\n1\tBees\n", "a.tsv")
    written(tmp_path, "Wasps", "b.txt")
    assert [document.title for document in read(tmp_path / "*")] == ["Bees", "Wasps"]


def test_a_tsv_beside_a_text_that_holds_no_labels_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "Title\nText.", "a.txt")
    written(tmp_path, "id\tname\n", "a.tsv")
    assert refusal(tmp_path).startswith('a.tsv:1: is "id\\tname", expected a label of the text beside it')


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.txt", "0,1 0:1.0 1:0.5\n2 2:1.0\n", "a training file of numbers (SVMlight, LIBSVM, XMC, PECOS)"),
        ("a.txt", "1 3:0.5 7:1\n-1 2:1e-3 # bees\n", "a training file of numbers"),
        ("a.txt", "+1 qid:3 1:0.2\n", "a training file of numbers"),
        ("a.svm", "1,4 3:0.5 7:1\n 2:1 5:1\n", "a training file of numbers"),
        ("a.txt", "__label__bees They fly.\n", "a training file of fastText"),
        ("a.txt", "1,2\tBees fly\n3\tTaxes\n", "a training file of PECOS, with numbers of labels before each text"),
        ("a.txt", "Bees fly. __label__bees\nTaxes\t__label__tax\n", "a training file of fastText"),
        ("a.txt", "1 3 10:0.5 12:1.5\n2 10:0.4 11:1\n", "a training file of numbers"),
        ("a.txt", "1 |text bees fly\n2 1.0 'a |text taxes\n", "a training file of Vowpal Wabbit"),
        ("a.txt", "1:1 4:0.5 | bees:2 fly:1\n2:1 | taxes:1\n", "a training file of Vowpal Wabbit"),
        ("a.txt", "Bees B-INSECT\nfly O\n\nTaxes\tNNS\tB-TAX\nrise VB O\n", "a training file of CoNLL, with a word"),
        ("a.txt", "=LDR  00714cam a2200205 a 4500\n=245  10$aBees fly.\n\n", "MARC as text"),
        ("a.mrk", "=LDR  00714cam a2200205 a 4500\n=245  10$aBees fly.\n\n", "MARC as text"),
        ("a.txt", "000000001 LDR   L 00714cam a22\n000000001 24510 L $$aBees fly.\n", "MARC as text"),
        ("a.txt", "%0 Journal Article\n%T Bees fly\n%K Taxes\n\n%0 Book\n%T Wasps\n", "EndNote's own"),
        ("a.enw", "%0 Journal Article\n%T Bees fly\n%K Taxes\n\n%0 Book\n%T Wasps\n", "EndNote's own"),
    ],
)
def test_files_of_other_tools_are_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, kind: str
) -> None:
    """As a file, and on standard input, where there is no name."""
    message = refusal(written(tmp_path, content, name))
    assert message.startswith(f"{name}: is {kind}")
    assert "expected a text; " in message
    give_on_standard_input(monkeypatch, content.encode())
    assert refusal("-").startswith(f"standard input: is {kind}")


@pytest.mark.parametrize(
    ("content", "titles"),
    [
        ('{"id": "1", "title": "Bees", "labels": []}\n{"id": "2", "title": "Wasps"}\n', ["Bees", "Wasps"]),
        ('[{"id": "1", "title": "Bees"},\n{"id": "2", "title": "Wasps"}]', ["Bees", "Wasps"]),
        ("id\ttitle\tlabels\n1\tBees\tInsects\n2\tWasps\t\n", ["Bees", "Wasps"]),
        ('"Id","Title","Labels"\n1,"Bees, all",Insects\n', ["Bees, all"]),
        ("id;title;abstract\n1;Bees;They fly.\n", ["Bees"]),
        ("PT\tAU\tTI\tDE\tSO\tUT\nJ\tLow, A\tBees\tWings\tZoo\tWOS:1\n", ["Bees"]),
        ("@article{low,\n title = {Bees},\n keywords = {Wings},\n}\n", ["Bees"]),
        ("<!DOCTYPE html>\n<html><title>Bees</title><script>var taxes</script><p>They fly.</html>", ["Bees"]),
        ("<?xml version='1.0'?><x><dc xmlns='http://purl.org/dc/elements/1.1/'><title>Bees</title></dc></x>", ["Bees"]),
    ],
)
def test_what_is_no_text_is_read_as_what_it_is_also_under_the_name_of_a_text(
    tmp_path: Path, content: str, titles: list[str]
) -> None:
    """Excel, the Web of Science and others call their tables .txt, and standard input has no name."""
    assert [each.title for each in read(written(tmp_path, content, "savedrecs.txt"))] == titles
    assert [each.title for each in read(written(tmp_path, content.encode("utf-16"), "savedrecs.txt"))] == titles


@pytest.mark.parametrize(
    "text",
    [
        "Title, abstract, keywords and text\nBees fly.",
        "Title\tBees\nThey fly.",
        "{Bees} fly.\n[1] Low",
        "<b> is bold.\nBees",
        "@ann wrote:\nBees {fly}",
        "@book{x, see} begins an entry\nBees",
        '{"Bees"} is a set.\nBees',
        "Title, text\nBees, wasps",
        "1 | Bees | 3\n2 | Wasps | 4",
        "%0 means none.\nBees",
        "The labels begin with\n__label__bees",
    ],
)
def test_texts_that_begin_like_something_else_are_texts(tmp_path: Path, text: str) -> None:
    first, _, rest = text.partition("\n")
    (found,) = read(written(tmp_path, text, "a.txt"))
    assert (found.title, found.abstract) == (first, rest)


@pytest.mark.parametrize(
    "text", ["10:30 Bees fly\n11:00 Wasps\n", "1:1 In the beginning", "2024\nBees", "1,200\tBirds", ""]
)
def test_texts_with_numbers_are_texts(tmp_path: Path, text: str) -> None:
    assert read(written(tmp_path, text or "Bees", "a.txt"))


@pytest.mark.parametrize("name", ["Y.npz", "X.npy"])
def test_arrays_are_refused(tmp_path: Path, name: str) -> None:
    assert refusal(written(tmp_path, b"PK\x03\x04", name)).startswith(f"{name}: holds arrays of NumPy, expected texts")
