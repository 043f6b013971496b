"""Results files: where they lie, how they are written, and what the sources were when they were.

A results file lists in `made` the states of the sources that what it holds was measured with: the day, and a digest of
each part of src/tagwright that it depends on. Docstrings, comments and layout have no part in a digest.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import machine

OWN = os.environ.get("TAGWRIGHT_CORPORA", "")
"The folder of a reader's own corpora, which `python -m benchmarks --folder` sets; processes that are started see it."

COMMITTED = Path(__file__).parent / "results"
RESULTS = Path(OWN) / "results" if OWN else COMMITTED

MEASURES = tuple(f"evaluation/{name}" for name in ("calibration", "metrics", "resampling", "scores", "significance"))
ZERO_SHOT = (
    *("combining", "data", "encoders", "stages", "tagger", "text", "translation", "types"),
    *MEASURES,
)
FORMULAS = (*("label_objectives", "losses", "maclr_stage1", "metadata_pairs", "pairs"),)
TRAINING = ("training", *(f"papers/{name}" for name in FORMULAS))
TRAINED = (*ZERO_SHOT, *TRAINING, "papers/svm")
OF_DEPL = ("papers/descriptions",)
AUTO = (*TRAINED, "auto", *OF_DEPL, "papers/depl", "papers/rts")
SERVED = (*ZERO_SHOT, "readers", "review", "server")
BATCHES = tuple(f"batch/{name}" for name in ("batch", "local_processes", "output_folder", "shard_tagging", "shards"))
"What a batch is made of that does not use Ray."

DEPENDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("agreement", "zeroshot", "zeroshot-choice", "fuse-choice", "weights", "encode", "first"), ZERO_SHOT
    ),
    **dict.fromkeys(("auto-draws", "curve", "curve-debtags", "curve-methods"), AUTO),
    "calibration": (*AUTO, "api", *(f"papers/{name}" for name in ("futex", "maclr", "micol"))),
    **dict.fromkeys(("parents", "peers", "processor", "rankers", "sample"), AUTO),
    **dict.fromkeys(("attack", "serve"), SERVED),
    "dense": ("encoders", "stages/dense", "text"),
    "button": (*AUTO, "models", "review", "server"),
    "descriptions": (*TRAINED, *OF_DEPL, "papers/depl"),
    "fulltext": (
        *TRAINED,
        "graph",
        "papers/futex",
        *(f"papers/{name}" for name in ("full_text", "label_trees")),
    ),
    "languages": ZERO_SHOT,
    "linear": (*MEASURES, "data", "stages/linear", "papers/label_trees", "text", "stages/linear/svm"),
    "metadata": (*TRAINED, "graph", "papers/micol", "papers/meta_path_selection"),
    "million": (*ZERO_SHOT, "core", "readers", *BATCHES),
    "monitor": ("tagger/acceptance", "monitoring", "text"),
    "names": ("stages/names", "text"),
    "ray_nodes": ("core", "readers", "batch"),
    "rerank": ("encoders", "stages", *TRAINING),
    "scale": (*TRAINED, "core", "graph", "readers", *BATCHES),
    "storm": ("core", "data", "readers", "review", *BATCHES, "tagger", *TRAINING, "auto/combiner", "auto/out_of_fold"),
    "supervised": AUTO,
    "train": ("encoders", *TRAINING),
    "unsupervised": (*TRAINED, "papers/contrastive", "papers/maclr", "papers/rts"),
}
"""Results file -> the packages and modules of src/tagwright that its figures depend on.

What only carries data (core, readers of documents) counts where it was measured itself.
"""

CHOICES = ("fuse-choice", "rankers", "sample", "zeroshot-choice")
"Results files by which a default was chosen: they tell of that day. Their programs are in the history of the project."

ONCE = ("monitor", "ray_nodes")
"Results files whose programs are there too: what they say may be older than the sources, and nothing measures it anew."

State = Mapping[str, Any]
"`day` and, where they were recorded, `sources`: part -> digest."

UNRECORDED: State = {"day": "before"}
"Of rows that were kept before states were."


def _read_sources() -> dict[str, bytes]:
    """The sources by their path in the package, read when a script starts: they may change while it runs."""
    spec = importlib.util.find_spec("tagwright")
    assert spec
    assert spec.origin
    folder = Path(spec.origin).parent
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".json"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


SOURCES = _read_sources()


def digest(part: str, sources: Mapping[str, bytes]) -> str:
    """The digest of a package or a module. Raises ValueError where there is none of this name."""
    mine = [name for name in sorted(sources) if name.startswith((f"{part}/", f"{part}."))]
    if not mine:
        raise ValueError(f"src/tagwright has no {part!r}; DEPENDS in benchmarks/figures.py names it")
    return hashlib.sha256("".join(name + _digest_of(name, sources[name]) for name in mine).encode()).hexdigest()[:12]


@cache
def _digest_of(name: str, content: bytes) -> str:
    text = "".join(_syntax(ast.parse(content))).encode() if name.endswith(".py") else content
    return hashlib.sha256(text).hexdigest()


def _syntax(node: Any) -> Iterator[str]:
    """A syntax tree as text, the same on each version of Python: fields that are empty are left out."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return
    if isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for field, value in ast.iter_fields(node):
            if value is not None and value != []:
                yield f"{field}="
                yield from _syntax(value)
        yield ")"
    elif isinstance(node, list):
        for each in node:
            yield from _syntax(each)
    else:
        yield f"{node!r},"


@cache
def state() -> dict[str, Any]:
    """The day, and the digest of each part that a results file depends on."""
    parts = sorted({part for each in DEPENDS.values() for part in each})
    return {"day": f"{datetime.now(UTC):%Y-%m-%d}", "sources": {part: digest(part, SOURCES) for part in parts}}


def read(path: Path) -> dict[str, Any]:
    """What a results file holds, to be added to; nothing where there is no file."""
    if not path.is_file():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {"made": [{"day": _day(content, path.stem)}], **content}


def write(path: Path, content: Mapping[str, Any], made: Iterable[State] | None = None) -> None:
    """Write a results file atomically, with the machine and the state of the sources.

    Pass what `read` gave with more in it, and the former states stay listed. made: states that rows were measured with,
    where that may have been before this run.
    """
    from tagwright.core.atomic import replace_file  # where parsers are attacked, nothing may be imported before

    about = {
        "machine": machine.describe(),
        "made": _listed([*content.get("made", ()), *(made or [state()])], path.stem),
    }
    with replace_file(path) as file:
        text = json.dumps({**about, **content, **about}, indent=1, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")


def _listed(states: Iterable[State], name: str) -> list[State]:
    """Each state once, with its last day, and what a results file of this name depends on; all for other names."""
    found: dict[str, State] = {}
    for each in states:
        sources = each.get("sources", {})
        kept = {part: sources[part] for part in DEPENDS.get(name, sources) if part in sources}
        key = json.dumps(kept, sort_keys=True)
        found[key] = {"day": max(each["day"], found.get(key, each)["day"]), **({"sources": kept} if kept else {})}
    return [*found.values()]


def table() -> Iterator[str]:
    """Each results file, the days on which it was written, and whether the sources are still the same."""
    yield from ("| file | made | sources |", "| --- | --- | --- |")
    now = state()["sources"]
    for name, parts in sorted(DEPENDS.items()):
        made = read(COMMITTED / f"{name}.json")["made"]
        days = ", ".join(sorted({each["day"] for each in made}))
        since = "a choice of that day" if name in CHOICES else compared(made, {part: now[part] for part in parts})
        yield f"| `results/{name}.json` | {days} | {'measured once; ' * (name in ONCE)}{since} |"


TABLES = {"results files": table}


def compared(made: Iterable[State], now: Mapping[str, str]) -> str:
    """What has changed since the states of a results file.

    >>> compared([{"day": "2026-11-24", "sources": {"text": "a", "data": "b"}}], {"text": "a", "data": "c"})
    'changed in: data'
    """
    states = [each.get("sources") for each in made]
    recorded = [each for each in states if each]
    changed = [part for part in sorted(now) if any(each.get(part) != now[part] for each in recorded)]
    said = ["not recorded" if not recorded else "partly not recorded"] if len(recorded) < len(states) else []
    if recorded:
        said.append(f"changed in: {', '.join(changed)}" if changed else "the same")
    return "; ".join(said)


def _day(content: Mapping[str, Any], name: str) -> str:
    """The day that a file from before states were listed says of itself, or on which it was committed."""
    found = re.findall(r"\d{4}-\d\d-\d\d", str(content.get("machine", "")))
    committed = json.loads((COMMITTED / "recorded.json").read_text(encoding="utf-8"))["committed"]
    return str(found[-1] if found else committed.get(name, "before"))
