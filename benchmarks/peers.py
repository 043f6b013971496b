"""Tagwright beside its peers: `python -m benchmarks peers [--install] [--sizes 0 50 300 all] [--speed]`.

Every peer runs in an environment of its own, which `--install` makes, through a small runner in `peer_runners` by its
public interface; ours are run in the same way. They learn from the same labelled documents, tag the same dev documents
and are scored by the same code. Text is all text of a document. Documents without labels are there too; of these only
`auto` learns. Sizes are labelled documents; where a peer needs labels, there is no row for 0.

`--speed`: instead of quality, the time to the first suggestion, from nothing and from a saved model, memory and disk.
The peers take turns, round after round, so that other work on the machine slows all of them alike.

Results are written as they come, and what is there is not run again but for the peers named after `--again`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import corpora, curve_plot, figures, peer_environments
from benchmarks.peer_jobs import Peer, Task, ask, measure, prepare

OURS = peer_environments.OURS

RUNNERS = "benchmarks.peer_runners."

PEERS: Mapping[str, Peer] = {
    "zero_shot": Peer(OURS, RUNNERS + "ours", "zero_shot", needs_labels=False),
    "zero_shot, static encoder": Peer(OURS, RUNNERS + "ours", "static", needs_labels=False),
    "zero_shot, no encoder": Peer(OURS, RUNNERS + "ours", "words", needs_labels=False),
    "auto": Peer(OURS, RUNNERS + "ours", "auto"),
    "nearest labels": Peer("sentence-transformers", RUNNERS + "nearest", "labels", needs_labels=False),
    "nearest documents": Peer("sentence-transformers", RUNNERS + "nearest", "documents"),
    "scikit-learn": Peer("scikit-learn", RUNNERS + "one_vs_rest"),
    "omikuji": Peer("omikuji", RUNNERS + "label_trees"),
    "PECOS": Peer("pecos", RUNNERS + "linear_trees"),
    "Annif tfidf": Peer("annif", RUNNERS + "annif_project", "tfidf"),
    "Annif mllm": Peer("annif", RUNNERS + "annif_project", "mllm"),
    "Annif omikuji": Peer("annif", RUNNERS + "annif_project", "omikuji"),
    "Annif nn_ensemble": Peer("annif", RUNNERS + "annif_project", "nn_ensemble"),
    "SetFit": Peer("setfit", RUNNERS + "few_shot", most=1000),
}


def main(arguments: list[str]) -> None:
    options = _options(arguments)
    if options.install is not None:
        for name, what in peer_environments.install(options.install or [*peer_environments.ENVIRONMENTS]):
            print(f"{name}: {what}", flush=True)
        return
    result: dict[str, Any] = {"quality": {}, "speed": {}, **figures.read(options.output)}
    if options.plots:
        curve_plot.write(curve_plot.without_variants(result["quality"]), "peers")
        return
    corpora.require(tuple(options.corpora))
    names = [name for name in options.peers if peer_environments.is_installed(PEERS[name].environment)]
    if not names:
        sys.exit("none of these peers is installed: python -m benchmarks peers --install")
    about = {"dev documents": options.documents, "unlabelled": options.unlabelled}
    result = {**about, "minutes": options.minutes, **result}
    for corpus in options.corpora:
        for size in options.sizes:
            steps = speed if options.speed else quality
            for line in steps(result, names, corpus, size, options):
                print(line, flush=True)
                figures.write(options.output, result)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = corpora.parser("peers", __doc__, corpora.ALL)
    parser.add_argument("--install", nargs="*", choices=[*peer_environments.ENVIRONMENTS], help="make environments")
    parser.add_argument(
        "--sizes", nargs="+", type=_size, default=(0, 50, 300, None), help='labelled documents, or "all"'
    )
    parser.add_argument("--peers", nargs="+", choices=[*PEERS], default=[*PEERS])
    parser.add_argument("--again", nargs="*", choices=[*PEERS], default=[], help="run these though they are there")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--documents", type=int, default=1000, help="dev documents, drawn with seed 0")
    parser.add_argument("--unlabelled", type=int, default=3000, help="train documents that are known without labels")
    parser.add_argument("--minutes", type=float, default=10, help="of the processor, for each peer and draw")
    parser.add_argument("--speed", action="store_true", help="time to the first suggestion, memory and disk")
    parser.add_argument("--rounds", type=int, default=3, help="of --speed")
    parser.add_argument("--plots", action="store_true", help="draw the quality that has been measured")
    return parser.parse_args(arguments)


def _size(text: str) -> int | None:
    return None if text == "all" else int(text)


def quality(
    result: dict[str, Any], names: Sequence[str], corpus: str, size: int | None, options: argparse.Namespace
) -> Iterator[str]:
    """Add the rows of one corpus and size that are missing; a line for each."""
    rows = result["quality"].setdefault(corpus, {})
    for draw in range(options.draws if size != 0 else 1):
        wanted = [name for name in names if _is_wanted(name, rows.get(name, {}), size, draw, name in options.again)]
        if not wanted:
            continue
        task = prepare(corpus, size, draw, options.documents, options.unlabelled)
        if not task.test:
            continue  # as many labelled documents as there are
        with folder_of_task() as folder:
            task.write(folder)
            for name in wanted:
                row = {"labelled": task.labelled, **run(name, task, folder, options.minutes, rows.get(name, {}))}
                rows.setdefault(name, {}).setdefault(_key(size), {})[str(draw)] = row
                yield f"{corpus:6} {_key(size):>5} {draw} {name:18} {_brief(row)}"


def _is_wanted(name: str, rows: Mapping[str, Any], size: int | None, draw: int, again: bool) -> bool:
    """Whether a peer can be asked at this size, and has no result for it."""
    done = str(draw) in rows.get(_key(size), {}) and not again
    if size == 0:
        return not PEERS[name].needs_labels and not done
    return PEERS[name].needs_labels and not done


def run(name: str, task: Task, folder: Path, minutes: float, others: Mapping[str, Any]) -> dict[str, Any]:
    """The row of one peer; what was too much with fewer documents is not tried with more."""
    if (most := PEERS[name].most) and len(task.labels) > most:
        return {"outcome": f"not for {len(task.labels):,} labels"}
    for row in (row for rows in others.values() for row in rows.values()):
        if row["labelled"] < task.labelled and row.get("outcome", "").startswith(("did not finish", "needs more")):
            return {"outcome": f"{row['outcome']} with {row['labelled']:,}"}
    shutil.rmtree(folder / "model", ignore_errors=True)
    return measure(PEERS[name], task, folder, minutes)


def speed(
    result: dict[str, Any], names: Sequence[str], corpus: str, size: int | None, options: argparse.Namespace
) -> Iterator[str]:
    """Time every peer on one corpus and size, in turns; a line for each round of each."""
    rows = result["speed"].setdefault(f"{corpus} {_key(size)}", {})
    asked = [name for name in names if (name not in rows or name in options.again) and not PEERS[name].most]
    if not asked:
        return
    tasks = {0: prepare(corpus, 0, 0, options.documents, 0), size: prepare(corpus, size, 0, options.documents, 0)}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in asked}
    for _ in range(options.rounds):
        for name in asked:
            with folder_of_task() as folder:
                task = tasks[size if PEERS[name].needs_labels else 0]
                task.write(folder)
                found[name].append(timed(PEERS[name], task, folder, options.minutes))
            about = {"labelled": task.labelled, "dev documents": len(task.test), "rounds": len(found[name])}
            rows[name] = {**about, **median(found[name])}
            rows[name]["load"] = round(os.getloadavg()[0], 1)
            rows[name]["installation MB"] = round(peer_environments.size(PEERS[name].environment) / 1e6)
            yield f"{corpus} {_key(size)} {name:18} {found[name][-1]}"


def timed(peer: Peer, task: Task, folder: Path, minutes: float) -> dict[str, Any]:
    """One round: from nothing to the first suggestion, everything, and the first suggestion of the saved model.

    Our cache is empty at first, as if the package had just been installed; peers have none.
    """
    cache = {"TAGWRIGHT_CACHE": str(folder / "cache")}
    nothing = ask(peer, folder, "first", task.name, minutes, cache)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    whole = ask(peer, folder, "measure", task.name, minutes, cache)
    if "outcome" in whole:
        return whole
    shutil.rmtree(folder / "cache", ignore_errors=True)
    saved = ask(peer, folder, "load", task.name, minutes, cache)
    if "outcome" in nothing or "outcome" in saved:
        return nothing if "outcome" in nothing else saved
    figures = whole["answer"]
    pace = {"documents per second": round(len(task.test) / max(figures.pop("tagging seconds"), 1e-3), 1)}
    used = 1000 * figures.pop("tagging processor seconds") / len(task.test)
    first = {
        f"first, {what}{of}": found[f"{of.strip()} seconds".strip()]
        for what, found in (("from nothing", nothing), ("saved", saved))
        for of in ("", " processor")
    }
    return {**first, **pace, "processor ms per document": round(used, 1), **figures}


def median(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of every figure the median of the rounds; of rounds without figures the outcome."""
    for each in rounds:
        if "outcome" in each:
            return dict(each)
    return {key: round(statistics.median(each[key] for each in rounds), 2) for key in rounds[0]}


@contextmanager
def folder_of_task() -> Iterator[Path]:
    """A folder for the files of a task and what peers write, beside the environments."""
    work = peer_environments.cache() / "work"
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as folder:
        yield Path(folder)


def _key(size: int | None) -> str:
    return "all" if size is None else str(size)


def _brief(row: Mapping[str, Any]) -> str:
    if "outcome" in row:
        return str(row["outcome"])
    shown = " ".join(f"{name} {100 * row[name]:.1f}" for name in ("nDCG@5", "P@1", "P@5", "R@100"))
    return f"{shown}, {row['training seconds']} s, {row['tagging seconds']} s, {row['peak MB']} MB"
