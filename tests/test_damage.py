"""A damaged saved tagger gives a result or an error in one line, and never a traceback."""

from __future__ import annotations

import shutil
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pytest
from tests.damaged_taggers import DOCUMENTS, LABELS, damage, taggers, use
from tests.saved import rewrite

from tagwright.errors import ConfigError, ModelError
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.tagger import Tagger


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {folder.name: folder for folder in taggers(tmp_path_factory.mktemp("taggers"))}


@pytest.fixture
def copy(saved: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of one of them, to be damaged."""
    return Path(shutil.copytree(saved[request.param], tmp_path / "tagger"))


@pytest.mark.parametrize("kind", ["words", "linear", "dense", "cross", "dual"])
def test_whatever_is_damaged_is_an_error_in_one_line(saved: dict[str, Path], kind: str, tmp_path: Path) -> None:
    assert use(saved[kind]) == "result"
    for seed in range(12):
        copy = tmp_path / str(seed)
        shutil.copytree(saved[kind], copy)
        what = damage(copy, seed)
        found = use(copy)
        assert "\n" not in found.strip(), what
        assert (found == "result") == (contents(copy) == contents(saved[kind])), what
        shutil.rmtree(copy)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("copy", "file", "number", "value"),
    [
        ("linear", "retrievers/svm/model/weights/indices.npy", 0, 2_000_000_000),
        ("linear", "retrievers/svm/model/weights/indices.npy", 0, -1),
        ("linear", "retrievers/svm/model/weights/indptr.npy", 1, 2_000_000_000),
        ("words", "retrievers/lexical/postings/indices.npy", 0, 2_000_000_000),
    ],
    indirect=["copy"],
)
def test_sparse_matrices_point_nowhere_else_though_their_checksums_are_right(
    copy: Path, file: str, number: int, value: int
) -> None:
    rewrite(copy, lambda manifest: manifest.update(files={}))
    array = np.array(np.load(copy / file))
    array.reshape(-1)[number] = value
    np.save(copy / file, array)
    with pytest.raises(ModelError, match="is damaged"):
        Tagger.load(copy)


@pytest.mark.parametrize(
    ("copy", "part", "changes"),
    [
        ("linear", ("retrievers", "svm"), {"k": 10**30}),
        ("linear", ("retrievers",), {"../linear": {"class": "Linear"}}),
        ("linear", (), {"files": {"nowhere.npy": [1, "0"]}}),
        ("linear", (), {"files": ["nowhere.npy"]}),
        ("words", ("retrievers", "lexical", "options"), {"k": 10**30}),
        ("words", ("retrievers", "lexical", "terms"), {"texts": {"file": "folder"}}),
        ("dense", ("retrievers", "dense", "search"), {"index": "../elsewhere"}),
        ("dense", ("retrievers", "dense"), {"encoder": "../../../elsewhere"}),
        ("dual", ("retrievers", "dual"), {"search": None, "weights": None, "texts": None}),
    ],
    indirect=["copy"],
)
def test_manifests_are_checked_though_their_checksum_is_right(
    copy: Path, part: tuple[str, ...], changes: dict[str, object]
) -> None:
    rewrite(copy, lambda manifest: reduce(getitem, part, manifest).update(changes))
    with pytest.raises(ModelError):
        Tagger.load(copy)


@pytest.mark.parametrize("content", [b"[" * 200_000, b"\xff\xfe", b'{"tagwright": 1e999}'])
@pytest.mark.parametrize("copy", ["words"], indirect=True)
def test_a_manifest_of_nonsense_is_an_error_in_one_line(copy: Path, content: bytes) -> None:
    (copy / "manifest.json").write_bytes(content)
    with pytest.raises(ModelError):
        Tagger.load(copy)


@pytest.mark.parametrize("copy", ["dense"], indirect=True)
@pytest.mark.parametrize("file", ["retrievers/dense/search/vectors.npy"])
def test_an_array_without_the_end_of_its_header_is_an_error_in_one_line(copy: Path, file: str) -> None:
    rewrite(copy, lambda manifest: manifest.update(files={}))
    (copy / file).write_bytes((copy / file).read_bytes().replace(b"}", b" "))
    with pytest.raises(ModelError, match="is damaged"):
        Tagger.load(copy)


@pytest.mark.parametrize("copy", ["dense", "cross"], indirect=True)
@pytest.mark.parametrize("file", ["tokenizer.json", "modules.json", "config.json", "model.safetensors"])
@pytest.mark.parametrize("content", [b"{", b'[{"type": "Transformer", "path": "../x"}]', b"[" * 100_000])
def test_a_damaged_encoder_is_an_error_in_one_line_without_checksums_too(copy: Path, file: str, content: bytes) -> None:
    rewrite(copy, lambda manifest: manifest.update(files={}))
    damaged = [path for path in copy.rglob(file) if "1_" not in path.parent.name]
    assert damaged
    for path in damaged:
        path.write_bytes(content)
    with pytest.raises(ModelError):
        Tagger.load(copy).tag(DOCUMENTS, 2)


def test_a_stage_has_a_name_that_a_folder_can_have() -> None:
    with pytest.raises(ConfigError, match=r'a stage is called "\.\./x", expected a name that a folder can have'):
        Tagger(LABELS, {"../x": ExactMatch(LABELS)})
