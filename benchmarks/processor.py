"""Seconds of the processor: to the first tag, for each document, and for a training; on a vocabulary of 26,983 labels.

`python -m benchmarks processor [CASE...] [--beside FOLDER]`: another checkout takes turns with this one, round after
round, so that other work on the machine slows both alike. Every process has one thread. Medians are printed, and those
of this checkout written.

first: from nothing, with an empty cache. second: the same with what the first left in the cache. saved: of a saved
tagger, with an empty cache. again: the same with what that left there. documents: a second, of a saved tagger, without
the first. train: auto with 50 labelled documents, and with all. retrain: the former once more, its texts encoded.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import corpora, figures
from benchmarks.machine import CHILDREN, processor_seconds
from benchmarks.peer_jobs import ONE_THREAD, prepare

HERE = Path(__file__).resolve().parents[1]

METHODS: Mapping[str, str] = {
    "words": "tw.zero_shot(labels, stages=['exact_match', 'tfidf'], offline=True)",
    "static": "tw.zero_shot(labels, encoder='static', offline=True)",
    "minilm": "tw.zero_shot(labels, offline=True)",
    "auto": "tw.train('auto', Path('train.jsonl'), labels, offline=True)",
    "all": "tw.train('auto', Path('all.jsonl'), labels, offline=True)",
}

BEGIN = """
import os, time
from pathlib import Path
import tagwright as tw
labels = Path('labels.jsonl')
"""
FIRST = "tagger.tag(Path('first.jsonl'), 10)\nos._exit(0)"
PACE = """
documents = list(tw.Corpus.read(Path('test.jsonl')))
tagger.tag(documents[:16], 10)
start = time.process_time()
tagger.tag(documents, 10)
print(len(documents) / (time.process_time() - start))
"""


@dataclass(frozen=True)
class Case:
    """What is measured with these methods: of a saved tagger or of one that is made, and what it then does.

    twice: once before, with the same cache.
    """

    methods: Sequence[str]
    is_saved: bool = False
    twice: bool = False
    then: str = FIRST


ALL = ("words", "static", "minilm", "auto")
CASES: Mapping[str, Case] = {
    "first": Case(("words", "minilm")),
    "second": Case(("words", "minilm"), twice=True),
    "saved": Case(ALL, is_saved=True),
    "again": Case(ALL, is_saved=True, twice=True),
    "documents": Case(ALL, is_saved=True, then=PACE),
    "train": Case(("auto", "all"), then=""),
    "retrain": Case(("auto",), twice=True, then=""),
}


def main(arguments: list[str]) -> None:
    names = [f"{name} {method}" for name, case in CASES.items() for method in case.methods]
    parser = corpora.parser("processor", __doc__, ())
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of {', '.join(names)}, or its first word")
    parser.add_argument("--beside", type=Path, action="append", default=[], help="another checkout of the project")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--documents", type=int, default=300, help="dev documents, for the pace")
    options = parser.parse_args(arguments)
    if unknown := [case for case in options.cases if case not in (*names, *CASES)]:
        parser.error(f"no case {unknown[0]!r}; expected {', '.join(names)}, or the first word of one")
    corpora.require(("tib",))
    wanted = [name for name in names if not options.cases or {name, name.split()[0]} & set(options.cases)]
    checkouts = [*(folder.resolve() for folder in options.beside), HERE]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.documents, whole="train all" in wanted)
        for name in wanted:
            found: dict[Path, list[float]] = {checkout: [] for checkout in checkouts}
            rounds = 1 if name == "train all" else options.rounds
            for _ in range(rounds):
                for place, checkout in enumerate(checkouts):
                    found[checkout].append(measured(name, checkout, Path(folder), f"model-{place}"))
            medians = list(map(statistics.median, found.values()))
            ratio = f", ratio {medians[-1] / medians[0]:.3f}" if len(medians) > 1 else ""
            print(f"{name:18} {' -> '.join(f'{each:8.2f}' for each in medians)}{ratio}", flush=True)
            case, method = name.split()
            content = figures.read(options.output)
            content.setdefault(case, {})[method] = {
                "median": round(medians[-1], 2),
                "rounds": rounds,
                "load": round(os.getloadavg()[0], 1),
            }
            figures.write(options.output, content)


def write(folder: Path, documents: int, *, whole: bool) -> None:
    """The files that the cases read: 50 labelled documents and 3,000 without labels, and dev documents."""
    prepare("tib", 50, 0, documents, 3000).write(folder)
    if whole:
        with tempfile.TemporaryDirectory() as other:
            prepare("tib", None, 0, documents, 0).write(Path(other))
            (folder / "all.jsonl").write_bytes((Path(other) / "train.jsonl").read_bytes())


def measured(name: str, checkout: Path, folder: Path, saved: str) -> float:
    """Seconds of one run; of `documents`, documents a second."""
    kind, method = name.split()
    case, make, model = CASES[kind], f"tagger = {METHODS[method]}\n", str(folder / f"{saved}-{method}")
    if case.is_saved and not Path(model).exists():
        run(checkout, folder, f"{make}tagger.save({model!r})")
    code = (f"tagger = tw.load({model!r})\n" if case.is_saved else make) + case.then
    with tempfile.TemporaryDirectory() as cache:
        if case.twice:
            run(checkout, folder, code, cache)
        seconds, printed = run(checkout, folder, code, cache)
    return float(printed) if case.then == PACE else seconds


def run(checkout: Path, folder: Path, code: str, cache: str = "") -> tuple[float, str]:
    """Seconds of the processor that the code takes in a process of its own, and what it prints."""
    with tempfile.TemporaryDirectory() as empty:
        paths = os.pathsep.join([str(checkout / "src"), str(checkout)])
        threads = dict.fromkeys(ONE_THREAD, "1")
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, **threads, "PYTHONPATH": paths, "TAGWRIGHT_CACHE": cache or empty}
        before = processor_seconds(CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", BEGIN + code],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
    return processor_seconds(CHILDREN) - before, done.stdout
