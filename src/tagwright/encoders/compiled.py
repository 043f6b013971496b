"""Compile graphs by OpenVINO for the processor, and run them on batches side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tagwright.encoders.device import threads
from tagwright.errors import ModelError
from tagwright.types import Floats

if TYPE_CHECKING:
    from openvino import Model

Computed: TypeAlias = Literal["float32", "bfloat16", "int8"]
"A number format of products."

Run: TypeAlias = Callable[[Iterable[Any], Callable[[Any], Mapping[str, Any]]], Iterator[tuple[Any, Floats]]]
"A compiled graph: see `compile_graph`."


def is_installed() -> bool:
    """Whether OpenVINO is there: it has no wheel for some machines."""
    return find_spec("openvino") is not None


def openvino() -> Any:
    """The package, without its converter: that is not needed, takes longer to import, and loads a telemetry.

    Raises ModelError where it is not installed.
    """
    if "openvino" in sys.modules:
        return sys.modules["openvino"]
    if not is_installed():
        raise ModelError(
            "computing a transformer without torch needs openvino, which is not installed; "
            'pip install "tagwright[minilm]"'
        )
    converter = "openvino.tools.ovc"
    sys.modules[converter] = None  # type: ignore[assignment]  # what imports it goes on without
    try:
        return import_module("openvino")
    finally:
        del sys.modules[converter]


def compile_graph(model: Model, precision: Computed) -> Run:
    """Compile a graph with one output to compute in a number format, on as many batches at a time as there are cores.

    Returns a function, for any number of threads, that yields each batch with the graph's output for it; its second
    argument makes the graph's inputs by name of a batch, when they are needed. In int8, 128 neighbouring activations
    share a scale: fewer are more exact and slower.
    """
    streams = threads()
    options: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": streams,
        "NUM_STREAMS": streams,
        "INFERENCE_PRECISION_HINT": "bf16" if precision == "bfloat16" else "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 128 if precision == "int8" else 0,
        "ENABLE_CPU_PINNING": False,  # or several processes share one core
    }
    compiled = openvino().Core().compile_model(model, "CPU", options)

    def run(batches: Iterable[Any], inputs: Callable[[Any], Mapping[str, Any]]) -> Iterator[tuple[Any, Floats]]:
        # Threads that share each product wait for each other about a hundred times a batch; with a batch each never.
        requests: SimpleQueue[Any] = SimpleQueue()
        for _ in range(streams):
            requests.put(compiled.create_infer_request())

        def computed(batch: Any) -> tuple[Any, Floats]:
            request = requests.get()
            try:
                return batch, request.infer(inputs(batch), share_inputs=True)[0].copy()
            finally:
                requests.put(request)

        pool = ThreadPoolExecutor(streams)
        try:
            yield from pool.map(computed, batches)
        finally:
            pool.shutdown(cancel_futures=True)

    return run
