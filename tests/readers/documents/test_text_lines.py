"""Data sets of PECOS and AttentionXML: a text in each line, its labels in the same line of a file beside."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix, save_npz
from tests.readers.reading import read, refusal

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError
from tagwright.readers.documents.files import guess_format

LABELS = csr_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], np.float32))


def of_pecos(folder: Path, matrix: Any = LABELS, texts: str = "Bees fly\nTaxes\nIce\n") -> Path:
    save_npz(folder / "Y.trn.npz", matrix)
    (folder / "X.trn.txt").write_text(texts)
    return folder / "X.trn.txt"


def of_attention(folder: Path, labels: str = "bees wings\ntax_law\n\n", texts: str = "Bees fly\nTaxes\nIce\n") -> Path:
    (folder / "train_labels.txt").write_text(labels)
    (folder / "train_raw_texts.txt").write_text(texts)
    return folder / "train_raw_texts.txt"


def test_labels_of_pecos_are_positions(tmp_path: Path) -> None:
    path = of_pecos(tmp_path)
    assert guess_format(path) == "lines"
    expected = [("1", "Bees fly", ("#1",)), ("2", "Taxes", ("#0", "#2")), ("3", "Ice", ())]
    for options in ({}, {"format": "lines"}):
        assert [(each.id, each.abstract, each.labels) for each in read(path, **options)] == expected


def test_the_position_in_output_items_is_the_id(tmp_path: Path) -> None:
    """Names may be equal, hold `>`, or be like a header."""
    (tmp_path / "output-items.txt").write_text("title\nBees > Wings\ntitle\n")
    labels = Vocabulary.read(tmp_path / "output-items.txt")
    assert [(label.id, label.name) for label in labels] == [("#0", "title"), ("#1", "Bees > Wings"), ("#2", "title")]
    gold = labels.gold(Corpus.of(read(of_pecos(tmp_path))))
    assert [gold.labels[start:end].tolist() for start, end in zip(gold.indptr, gold.indptr[1:], strict=False)] == [
        [1], [0, 2], [],
    ]  # fmt: skip


def test_a_position_without_a_name_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "output-items.txt").write_text("bees\n\nwasps\n")
    with pytest.raises(InputError, match=r"output-items\.txt:2: is empty, expected the name of label #1"):
        Vocabulary.read(tmp_path / "output-items.txt")


def test_labels_of_attention_xml_are_words(tmp_path: Path) -> None:
    path = of_attention(tmp_path, texts="Bees/SEP/They fly.\nTaxes\nIce\n")
    assert [(each.title, each.abstract, each.labels) for each in read(path)] == [
        ("Bees", "They fly.", ("bees", "wings")), ("", "Taxes", ("tax_law",)), ("", "Ice", ()),
    ]  # fmt: skip
    labels = Vocabulary.read(tmp_path / "train_labels.txt")
    assert [(label.id, label.name) for label in labels] == [
        ("bees", "bees"), ("wings", "wings"), ("tax_law", "tax law"),
    ]  # fmt: skip


def test_packed_files_are_read_alike(tmp_path: Path) -> None:
    for path in (of_attention(tmp_path), of_pecos(tmp_path), tmp_path / "train_labels.txt"):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert [each.labels for each in read(tmp_path / "train_raw_texts.txt.gz")] == [("bees", "wings"), ("tax_law",), ()]
    assert [each.labels for each in read(tmp_path / "X.trn.txt.gz")] == [("#1",), ("#0", "#2"), ()]
    assert Vocabulary.read(tmp_path / "train_labels.txt.gz").ids == ("bees", "wings", "tax_law")
    assert "is a training file" in refusal(tmp_path / "train_labels.txt.gz")


def test_a_stored_zero_is_no_label(tmp_path: Path) -> None:
    matrix = csr_matrix((np.array([0.0, 1.0]), np.array([0, 2]), np.array([0, 2, 2, 2])), (3, 3))
    assert [each.labels for each in read(of_pecos(tmp_path, matrix))] == [("#2",), (), ()]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (2, "X.trn.txt:3: is text 3, but Y.trn.npz has only 2 rows; take both from the same data set"),
        (4, "X.trn.txt:3: is the last text, but Y.trn.npz has more than 3 rows; take both from the same data set"),
    ],
)
def test_another_number_of_rows_is_an_error_with_the_line(rows: int, said: str, tmp_path: Path) -> None:
    assert refusal(of_pecos(tmp_path, csr_matrix((rows, 3), dtype=np.float32))) == said


def test_another_number_of_lines_is_an_error_with_the_line(tmp_path: Path) -> None:
    assert refusal(of_attention(tmp_path, "bees\n")).startswith(
        "train_raw_texts.txt:2: is text 2, but train_labels.txt"
    )


def test_texts_without_their_matrix_are_documents_without_labels(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = of_pecos(tmp_path)
    (tmp_path / "Y.trn.npz").unlink()
    assert [(document.text, document.labels) for document in read(path)] == [
        ("Bees fly", ()),
        ("Taxes", ()),
        ("Ice", ()),
    ]
    assert caplog.messages == [f"{path}: its documents have no labels, as Y.trn.npz is not beside it"]


def test_texts_without_their_file_of_labels_are_refused(tmp_path: Path) -> None:
    path = of_attention(tmp_path)
    (tmp_path / "train_labels.txt").unlink()
    said = "holds a text in each line, but no file of labels is beside it; name both: X.trn.txt with Y.trn.npz"
    assert refusal(path).startswith(f"train_raw_texts.txt: {said}")
    other = path.rename(tmp_path / "texts.txt")
    assert refusal(other, format="lines").startswith(f"texts.txt: {said}")


@pytest.mark.parametrize(
    ("name", "options"),
    [("train_labels.txt", {}), ("Y.trn.txt", {}), ("train_raw_texts.txt", {"format": "text"})],
)
def test_lines_of_a_data_set_are_never_one_text(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    of_attention(tmp_path)
    (tmp_path / "Y.trn.txt").write_text("bees wings\ntax_law\n")
    said = refusal(tmp_path / name, **options)
    assert said.startswith(f"{name}: is a training file of another tool (XR-Transformer, PECOS, AttentionXML)")
    assert said.endswith("give the texts, X.trn.txt or train_texts.txt: input_format=lines")


class Code:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("touched"),)


@pytest.mark.parametrize("made", ["pickle", "pickled array", "text", "dense"])
def test_a_file_that_is_no_matrix_is_refused_and_nothing_in_it_runs(
    made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, labels = of_pecos(tmp_path), tmp_path / "Y.trn.npz"
    if made == "pickled array":
        parts: dict[str, Any] = {"format": b"csr", "shape": (3, 3), "indptr": [0, 0, 0, 0], "data": []}
        np.savez(labels, indices=np.array([Code()], object), **parts)
    elif made == "dense":
        np.savez(labels, labels=np.eye(3))
    else:
        labels.write_bytes(pickle.dumps(Code()) if made == "pickle" else b"bees")
    assert refusal(path).startswith("Y.trn.npz: is no sparse matrix as scipy.sparse.save_npz writes it")
    assert not Path("touched").exists()


@pytest.mark.parametrize("other", [csc_matrix(LABELS), coo_matrix(LABELS)])
def test_a_matrix_in_another_format_is_read(other: Any, tmp_path: Path) -> None:
    assert [each.labels for each in read(of_pecos(tmp_path, other))] == [("#1",), ("#0", "#2"), ()]


@pytest.mark.parametrize(
    "changes", [{"indices": [1, 0, 3]}, {"indices": [1, 0, -1]}, {"indptr": [0, 2, 1, 3]}, {"indptr": [0, 1, 3]}]
)
def test_a_damaged_matrix_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    path = of_pecos(tmp_path)
    with np.load(tmp_path / "Y.trn.npz") as file:
        parts = {**file, **changes}
    np.savez(tmp_path / "Y.trn.npz", **parts)
    assert refusal(path).startswith(
        "Y.trn.npz: is no sparse matrix as scipy.sparse.save_npz writes it, or a damaged one ("
    )


@pytest.mark.parametrize("packed", [False, True])
def test_sparse_numbers_of_the_repository_are_refused_with_what_to_download(packed: bool, tmp_path: Path) -> None:
    content = b"2 3 3\n0,1 0:1.0 1:0.5\n2 2:1.0\n"
    path = tmp_path / ("train.txt.gz" if packed else "train.txt")
    path.write_bytes(gzip.compress(content) if packed else content)
    said = f"{path.name}: is a training file of numbers (SVMlight, LIBSVM, XMC, PECOS)"
    assert refusal(path).startswith(said)
    assert refusal(path, format="text").startswith(said)
    assert refusal(path, format="lines").startswith(f"{path.name}: holds a text in each line, but no file")


def test_commas_separate_labels_where_the_vocabulary_says_so(tmp_path: Path) -> None:
    """The data of APLC-XLNet: a column without a name, labels between commas, names with underscores."""
    rows = ',text,label\n0,Bees fly here,"beekeeping,crop_production"\n1,Wine,"wine,unknown"\n2,Tax,"fees, taxes"\n'
    (tmp_path / "train.csv").write_text(rows)
    (tmp_path / "labels.txt").write_text("beekeeping\ncrop_production\nwine\nfees\ntaxes\n")
    labels = Vocabulary.read(tmp_path / "labels.txt")
    assert (labels[1].id, labels[1].name) == ("crop_production", "crop production")
    found = read(tmp_path / "train.csv", is_label=labels.index.__contains__)
    assert [each.labels for each in found] == [
        ("beekeeping", "crop_production"), ("wine", "unknown"), ("fees, taxes",),  # as names have commas with a space
    ]  # fmt: skip
    assert [each.abstract for each in found] == ["Bees fly here", "Wine", "Tax"]
    whole = read(tmp_path / "train.csv", is_label={"beekeeping,crop_production", "beekeeping"}.__contains__)
    assert whole[0].labels == ("beekeeping,crop_production",)


def test_underscores_stay_where_a_name_has_a_space(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("snake_case\ncamel case\n")
    assert [label.name for label in Vocabulary.read(tmp_path / "labels.txt")] == ["snake_case", "camel case"]
