from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.readers.documents.plain_text import parse_markdown, parse_text
from tagwright.types import Document, Section


def test_the_first_line_of_a_text_is_its_title_unless_it_is_too_long() -> None:
    assert parse_text("Bees\nThey fly.\n") == Document("", "Bees", "They fly.")
    assert parse_text("word " * 60) == Document("", abstract=("word " * 60).strip())
    assert parse_text("") == Document("")


def test_headings_in_fenced_code_are_no_headings() -> None:
    document = parse_markdown("# Shell\n\n````sh\n# comment\n```\n\n# more\n````\nafter\n\n## Next\n~~~\n# x\n")
    assert document.title == "Shell"
    assert document.abstract == "````sh\n# comment\n```\n\n# more\n````\nafter"
    assert document.sections == (Section("Next", 1, ("~~~\n# x",)),)


@pytest.mark.parametrize(
    ("text", "title", "abstract", "headings"),
    [
        ("Bees\n====\nFly.\n\nWings\n-----\n", "Bees", "Fly.", ["Wings"]),
        ("[badge]\n\n# Bees\nFly.", "Bees", "[badge]\n\nFly.", []),
        ("Bees\nFly.\n\n## Wings", "Bees", "Fly.", ["Wings"]),
        ("## Bees ##\nC#\n\n# C#", "Bees", "C#", ["C#"]),
        ("---\nname: x\ntitle: 'Bees'\n---\n# Bees\nFly.", "Bees", "Fly.", []),
        ("---\ntitle: Bees\n---\nFly.\n## Wings", "Bees", "Fly.", ["Wings"]),
        ("Bees\n\n- one\n---\n#tag\n", "Bees", "- one\n---\n#tag", []),
        ("#\n", "", "", []),
        ("", "", "", []),
    ],
)
def test_titles_and_headings_of_markdown(text: str, title: str, abstract: str, headings: list[str]) -> None:
    document = parse_markdown(text)
    assert (document.title, document.abstract) == (title, abstract)
    assert [section.heading for section in document.sections] == headings


def test_a_folder_gives_its_texts_in_order_with_relative_paths_as_ids(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.md", "a/d.TXT", ".git/e.txt", "a/image.png"):
        written(tmp_path, "Title\nText.", name)
    written(tmp_path, "", "a/empty.txt")
    assert [document.id for document in read(tmp_path)] == ["a/c.md", "a/d.TXT", "a/empty.txt", "b.txt"]


def test_labels_lie_beside_the_texts_in_an_annif_folder(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        written(tmp_path, "Title\nText.", name)
    written(tmp_path, "<http://x/1>\tnetworking\tmore\n<>\tcomputer science\n", "a.tsv")
    written(tmp_path, "not read\n", "a.key")
    written(tmp_path, "\ufeffnetworking\r\n\r\ncomputer science\r\n", "b.key")
    assert [document.labels for document in read(tmp_path)] == [
        ("http://x/1", "computer science"),
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


def test_labels_beside_a_text_may_be_names_in_a_tsv(tmp_path: Path) -> None:
    """As Annif takes them: of each line the URI, or else the name."""
    written(tmp_path, "Honey\nBees fly.", "a.txt")
    written(tmp_path, "Bees\n\n<http://x/1>\tInsects\n\tFlight\n<>\tHives\n", "a.tsv")
    assert read(tmp_path)[0].labels == ("Bees", "http://x/1", "Flight", "Hives")


def test_a_training_file_of_fasttext_is_no_text(tmp_path: Path) -> None:
    path = written(tmp_path, "__label__bees They fly.\n__label__tax __label__law It is paid.\n", "train.txt")
    assert refusal(path).startswith("train.txt: is a training file of fastText, expected a text; write its lines as {")
    assert read(written(tmp_path, "The labels begin with\n__label__bees\n", "notes.txt"))


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        (
            "train.txt",
            "2 3 3\n0,1 0:1.0 1:0.5\n2 2:1.0\n",
            "numbers (SVMlight, LIBSVM, XMC, PECOS), which are of words",
        ),
        ("a.txt", "1 3:0.5 7:1\n-1 2:1e-3 # bees\n", "numbers"),
        ("a.txt", "+1 qid:3 1:0.2\n", "numbers"),
        ("a.svm", "1,4 3:0.5 7:1\n 2:1 5:1\n", "numbers"),
        ("a.txt", "__label__bees They fly.\n", "fastText"),
        ("a.txt", "1,2\tBees fly\n3\tTaxes\n", "PECOS, with numbers of labels before each text"),
        ("X.trn.txt", "Bees fly\nTaxes\n", "another tool (XR-Transformer, PECOS, AttentionXML)"),
        ("train_labels.txt", "bees wasps\ntax\n", "another tool (XR-Transformer, PECOS, AttentionXML)"),
    ],
)
def test_training_files_of_other_tools_are_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, kind: str
) -> None:
    """As a file, and on standard input, where there is no name."""
    message = refusal(written(tmp_path, content, name))
    assert message.startswith(f"{name}: is a training file of {kind}")
    assert message.endswith('write its lines as {"title": "...", "labels": ["..."]} in a .jsonl file')
    if kind.startswith("another"):
        return

    class Stdin:
        buffer = io.BytesIO(content.encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert refusal("-").startswith(f"standard input: is a training file of {kind}")


@pytest.mark.parametrize(
    "text", ["10:30 Bees fly\n11:00 Wasps\n", "1:1 In the beginning", "2024\nBees", "1,200\tBirds", ""]
)
def test_texts_with_numbers_are_texts(tmp_path: Path, text: str) -> None:
    assert read(written(tmp_path, text or "Bees", "a.txt"))


@pytest.mark.parametrize("name", ["Y.npz", "X.npy"])
def test_arrays_are_refused(tmp_path: Path, name: str) -> None:
    assert refusal(written(tmp_path, b"PK\x03\x04", name)).startswith(f"{name}: holds arrays of NumPy, expected texts")
