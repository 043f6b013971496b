from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiny import tiny_encoder

from tagwright.encoders import bi_encoder, compiled, precision, transformer
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.compiled import compile_graph
from tagwright.encoders.static import distil
from tagwright.encoders.transformer import batches
from tagwright.errors import ModelError


@given(lengths=st.lists(st.integers(1, 30), max_size=60), budget=st.integers(1, 100))
def test_batches_hold_every_text_once_and_one_length_each(lengths: list[int], budget: int) -> None:
    found = batches(lengths, budget)
    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    assert all(len({lengths[i] for i in batch}) == 1 for batch in found)
    assert all(len(batch) == 1 or sum(lengths[i] for i in batch) <= budget for batch in found)


def doubling() -> Any:
    from openvino import Model, Type
    from openvino import opset13 as ops

    x = ops.parameter([-1], Type.f32, name="x")
    return Model([ops.add(x, x)], [x], "doubling")


@pytest.mark.parametrize("cores", ["1", "2"])
def test_threads_share_a_graph_and_its_batches_come_in_order(monkeypatch: pytest.MonkeyPatch, cores: str) -> None:
    monkeypatch.setattr("tagwright.encoders.compiled.threads", lambda: int(cores))
    run, results = compile_graph(doubling(), "float32"), dict[int, list[float]]()

    def work(number: int) -> None:
        added = run(range(100), lambda i: {"x": np.full(3, number + i, np.float32)})
        results[number] = [float(got[0]) - 2 * batch for batch, got in added]

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert results == {number: [2.0 * number] * 100 for number in range(8)}


def test_an_interrupted_run_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwright.encoders.compiled.threads", lambda: 2)
    begun: list[int] = []

    def inputs(batch: int) -> dict[Any, Any]:
        begun.append(batch)
        time.sleep(0.01)
        return {"x": np.zeros(1, np.float32)}

    def interrupted() -> None:
        for _ in compile_graph(doubling(), "float32")(range(10_000), inputs):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(begun) < 10_000


def test_a_graph_without_rows_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = BiEncoder.load(str(tiny_encoder(tmp_path / "tiny")), cached=False)

    def without_rows(*graph: Any) -> Any:
        return lambda *given: ((batch, rows[:0]) for batch, rows in compile_graph(*graph)(*given))

    monkeypatch.setattr(transformer, "compile_graph", without_rows)
    with pytest.raises(ModelError, match="OpenVINO gives no vectors on this processor; unset ONEDNN_MAX_CPU_ISA"):
        encoder.encode(["bee"])


def test_without_openvino_the_library_encodes_and_a_distillation_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tiny_encoder(tmp_path / "tiny"))
    expected = BiEncoder.load(folder, precision="float32").encode(["a bee"])
    for module in (bi_encoder, compiled, precision):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    monkeypatch.delitem(sys.modules, "openvino", raising=False)
    monkeypatch.setattr(compiled, "import_module", lambda name: pytest.fail(f"{name} is imported"))
    np.testing.assert_allclose(BiEncoder.load(folder, cached=False).encode(["a bee"]), expected, atol=1e-3)
    with pytest.raises(ModelError, match=r'needs openvino, which is not installed; pip install "tagwright\[minilm\]"'):
        distil(tmp_path / "static", folder)
