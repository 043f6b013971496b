"""A damaged saved tagger gives a result or an error in one line, and never a traceback."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.damaged_taggers import DOCUMENTS, LABELS, damage, taggers, use, without_checksums

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


def rewrite(file: Path, **changes: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


@pytest.mark.parametrize("kind", ["words", "linear", "dense", "cross", "dual"])
def test_whatever_is_damaged_there_is_a_result_or_an_error_in_one_line(
    saved: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    assert use(saved[kind]) == "result"
    for seed in range(25):
        copy = tmp_path / str(seed)
        shutil.copytree(saved[kind], copy)
        what = damage(copy, seed)
        found = use(copy)
        assert found == "result" or "\n" not in found.strip(), what
        if not what.endswith("manifest.json") and changed(saved[kind], copy):
            assert found != "result", what
        shutil.rmtree(copy)


def changed(one: Path, other: Path) -> bool:
    """Whether a file that counts differs."""

    def contents(folder: Path) -> dict[str, bytes]:
        return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    return contents(one) != contents(other)


@pytest.mark.parametrize(
    ("copy", "file", "number", "value"),
    [
        ("linear", "svm/model/indices.npy", 0, 2_000_000_000),
        ("linear", "svm/model/indptr.npy", 1, 2_000_000_000),
        ("linear", "svm/model/data.npy", 0, np.nan),
        ("linear", "svm/model/bias.npy", 0, np.inf),
        ("linear", "svm/words/frequencies.npy", 0, -3),
        ("linear", "trees/places.npy", 0, -2),
        ("dual", "dual/vectors.npy", 0, np.inf),
        ("dual", "dual/free/vectors.npy", 0, np.nan),
        ("dual", "dual/free/labels.npy", 0, -1),
    ],
    indirect=["copy"],
)
def test_numbers_of_arrays_are_checked_without_checksums_too(copy: Path, file: str, number: int, value: float) -> None:
    without_checksums(copy)
    array = np.array(np.load(copy / file))
    array.reshape(-1)[number] = value
    np.save(copy / file, array)
    with pytest.raises(ModelError):
        Tagger.load(copy)


@pytest.mark.parametrize(
    ("copy", "file", "changes"),
    [
        ("linear", "svm", {"k": -5}),
        ("linear", "svm/model", {"words": 10**12}),
        ("linear", "svm/words", {"words": ["a", "a"]}),
        ("linear", "svm/words", {"documents": 0}),
        ("linear", "trees/model", {"beam": 4294967295000}),
        ("linear", ".", {"retrievers": {"../linear": "Linear"}}),
        ("linear", ".", {"retrievers": {"svm": ["Linear"]}}),
        ("linear", ".", {"steps": None}),
        ("linear", "steps/0", {"options": {"weights": {"svm": -1}}}),
        ("linear", ".", {"files": {"nowhere.npy": "0"}}),
        ("linear", ".", {"training": 5}),
        ("words", "lexical", {"options": {"k": 10**30}}),
        ("dense", "dense", {"index": {"name": "HNSW32,SQ8", "effort": -1}}),
        ("dense", "dense", {"packaged_encoder": "no"}),
        ("dual", "dual", {"texts": False, "free": False}),
    ],
    indirect=["copy"],
)
def test_manifests_are_checked(copy: Path, file: str, changes: dict[str, object]) -> None:
    rewrite(copy / file / "manifest.json", **changes)
    with pytest.raises(ModelError):
        Tagger.load(copy)


@pytest.mark.parametrize("content", [b"[" * 200_000, b"\xff\xfe", b'{"tagwright": 1e999}'])
@pytest.mark.parametrize("copy", ["words"], indirect=True)
def test_a_manifest_of_nonsense_is_an_error_in_one_line(copy: Path, content: bytes) -> None:
    for folder in (copy / "exact_match", copy):
        (folder / "manifest.json").write_bytes(content)
        with pytest.raises(ModelError):
            Tagger.load(copy)


@pytest.mark.parametrize("copy", ["dense"], indirect=True)
@pytest.mark.parametrize("file", ["dense/vectors.npy"])
def test_an_array_without_the_end_of_its_header_is_an_error_in_one_line(copy: Path, file: str) -> None:
    without_checksums(copy)
    (copy / file).write_bytes((copy / file).read_bytes().replace(b"}", b" "))
    with pytest.raises(ModelError, match="cannot be read"):
        Tagger.load(copy)


@pytest.mark.parametrize("copy", ["dense", "cross"], indirect=True)
@pytest.mark.parametrize("file", ["tokenizer.json", "modules.json", "config.json", "model.safetensors"])
@pytest.mark.parametrize("content", [b"{", b'[{"type": "Transformer", "path": "../x"}]', b"[" * 100_000])
def test_a_damaged_encoder_is_an_error_in_one_line_without_checksums_too(copy: Path, file: str, content: bytes) -> None:
    without_checksums(copy)
    damaged = [path for path in copy.rglob(file) if "1_" not in path.parent.name]
    assert damaged
    for path in damaged:
        path.write_bytes(content)
    with pytest.raises(ModelError):
        Tagger.load(copy).tag(DOCUMENTS, 2)


def test_a_stage_has_a_name_that_a_folder_can_have() -> None:
    with pytest.raises(ConfigError, match=r'a stage is called "\.\./x", expected a name that a folder can have'):
        Tagger(LABELS, {"../x": ExactMatch(LABELS)})
