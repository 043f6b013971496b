"""Convert pickled weights to safetensors. PyTorch reads them as data alone: what else a pickle holds is refused."""

from pathlib import Path
from typing import Any

from tagwright.core.atomic import replace_folder
from tagwright.core.checked import show
from tagwright.core.extras import require
from tagwright.encoders.architecture import read_architecture, read_json
from tagwright.encoders.model_folder import copy_model, pickled_parts
from tagwright.errors import ModelError, one_line_of

_FILES = "pytorch_model*.bin"  # several of large models


def convert(source: Path, target: Path) -> None:
    """Write a folder with the settings and tokenizer of a model, and its pytorch_model.bin as model.safetensors.

    Tensors that share memory are written apart, each whole. Raises ModelError for a folder without such weights, for
    damaged ones, and for what is no dense tensor; OccupiedError where the target holds something. Nothing is left of a
    conversion that fails.
    """
    require("converting weights", "torch")
    from safetensors.torch import save_file

    read_architecture(source)  # without which no model can be read
    parts = [part for part in pickled_parts(source) if any(part.glob(_FILES))]
    if not parts:
        raise ModelError(f"{source}: holds no pytorch_model.bin without safetensors beside it: nothing to convert")
    with replace_folder(target, "encoder", overwrite=False) as folder:
        copy_model(source, folder)
        for part in parts:
            _check_whole(part)
            tensors: dict[str, Any] = {}
            for file in sorted(part.glob(_FILES)):
                tensors |= _read(file)
            place = folder / part.relative_to(source) / "model.safetensors"
            save_file(tensors, place, metadata={"format": "pt"})


def _check_whole(part: Path) -> None:
    """Raise ModelError where a file that the index of a part names is missing, as after a broken download."""
    for index in part.glob(f"{_FILES}.index.json"):
        named = read_json(index).get("weight_map")
        for name in sorted(set(map(str, named.values()))) if isinstance(named, dict) else ():
            if not (part / name).is_file():
                raise ModelError(f"{index}: names {show(name)}, which is not beside it; download the model again")


def _read(file: Path) -> dict[str, Any]:
    """The tensors of a file by name, none of which share memory."""
    import torch

    refused = "was not read, as pickled code could run; take the weights of another source"
    try:
        content = torch.load(file, weights_only=True, map_location="cpu")
    except Exception as error:  # of pickle, zipfile and torch, for whatever the file holds
        raise ModelError(
            f"{file}: holds more than tensors, or is damaged ({one_line_of(error)}); it {refused}"
        ) from None
    named = content if isinstance(content, dict) and content else {"": content}
    for name, tensor in named.items():
        if not isinstance(name, str) or not isinstance(tensor, torch.Tensor) or not _is_dense(tensor) or not name:
            what = show(type(tensor).__name__)
            raise ModelError(f"{file}: holds {what} as {show(name)}, expected dense tensors by name; it {refused}")
    return {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in content.items()}


def _is_dense(tensor: Any) -> bool:
    return str(tensor.layout) == "torch.strided" and not tensor.is_quantized and not tensor.is_meta
