"""Annif by its command line: a SKOS vocabulary, a project file, `annif train`, `annif index`.

Stemming by Annif's snowball analyzer, everything else by its defaults. The nn_ensemble joins tfidf, mllm and omikuji,
which learn from two thirds of the labelled documents; the ensemble learns from the last third, as Annif's guide wants.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from benchmarks.peer_runners.protocol import Job, Record, Records, Suggestions, answer, text

SOURCES = ("tfidf", "mllm", "omikuji")

ANALYZERS = {"en": "english", "de": "german", "fi": "finnish"}

PREFIX = "http://example.org/label/"
"Annif wants URIs."


@dataclass(frozen=True)
class Project:
    """A trained project in a folder."""

    folder: Path
    name: str

    def suggest(self, documents: Records, k: int) -> Iterator[Suggestions]:
        """With `annif index`, which starts anew."""
        folder = self.folder.parent
        path, found = folder / "annif-documents.jsonl", folder / "annif-suggestions.jsonl"
        write(path, documents.records)
        annif(self.folder, "index", "-l", str(k), "--no-include-doc", "--force", "-O", str(found), self.name, str(path))
        for line in found.read_text(encoding="utf-8").splitlines():
            yield [(unquote(each["uri"].removeprefix(PREFIX)), each["score"]) for each in json.loads(line)["results"]]

    def save(self, folder: Path) -> None:
        """It is there: Annif writes while it trains."""


def fit(job: Job) -> Project:
    """Load the vocabulary and train."""
    job.folder.mkdir(parents=True, exist_ok=True)
    (job.folder / "projects.cfg").write_text(projects(job.language), encoding="utf-8")
    vocabulary = job.folder.parent / "vocabulary.ttl"
    vocabulary.write_text(skos(job.labels.records, job.language), encoding="utf-8")
    annif(job.folder, "load-vocab", "labels", str(vocabulary))
    documents = [each for each in job.train.records if each["labels"]]
    if job.variant == "nn_ensemble":
        cut = 2 * len(documents) // 3
        for source in SOURCES:
            train(job, source, documents[:cut])
        train(job, job.variant, documents[cut:])
    else:
        train(job, job.variant, documents)
    return Project(job.folder, job.variant)


def train(job: Job, name: str, documents: Sequence[Record]) -> None:
    """Train one project, in one process."""
    path = job.folder.parent / "annif-train.jsonl"
    write(path, documents)
    annif(job.folder, "train", "-j", "1", name, str(path))


def load(job: Job) -> Project:
    """The trained project."""
    return Project(job.folder, job.variant)


def annif(folder: Path, *arguments: str) -> None:
    """Run a command of Annif."""
    command = [str(Path(sys.executable).with_name("annif")), *arguments]
    places = {"ANNIF_DATADIR": str(folder / "data"), "ANNIF_CONFIG": "annif.default_config.Config"}
    given = {**os.environ, **places, "ANNIF_PROJECTS": str(folder / "projects.cfg")}
    done = subprocess.run(command, env=given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)


def projects(language: str) -> str:
    """The project file: one for each backend."""
    about = f"language={language}\nvocab=labels\nanalyzer=snowball({ANALYZERS[language]})\nlimit=101\n"
    plain = (f"[{name}]\nname={name}\nbackend={name}\n{about}" for name in SOURCES)
    return "\n".join(
        [*plain, f"[nn_ensemble]\nname=ensemble\nbackend=nn_ensemble\nsources={','.join(SOURCES)}\n{about}"]
    )


def skos(labels: Sequence[Record], language: str) -> str:
    """The vocabulary in Turtle: preferred and other names, and broader labels."""
    lines = ["@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."]
    for label in labels:
        names = [f"{json.dumps(name, ensure_ascii=False)}@{language}" for name in label["names"]]
        said = [f"skos:prefLabel {names[0]}", *(f"skos:altLabel {name}" for name in names[1:])]
        said += [f"skos:broader <{uri(each)}>" for each in label.get("broader", ())]
        lines.append(f"<{uri(label['id'])}> a skos:Concept ; {' ; '.join(said)} .")
    return "\n".join(lines)


def write(path: Path, documents: Sequence[Record]) -> None:
    """Documents as Annif reads them."""
    with path.open("w", encoding="utf-8") as file:
        for each in documents:
            subjects = {"subjects": [{"uri": uri(label)} for label in each["labels"]]} if each["labels"] else {}
            file.write(json.dumps({"document_id": each["id"], "text": text(each), **subjects}) + "\n")


def uri(label: str) -> str:
    """The URI that stands for a label."""
    return PREFIX + quote(label, safe="")


if __name__ == "__main__":
    answer(fit, load)
