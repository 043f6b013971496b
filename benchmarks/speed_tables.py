"""The tables of speed: a line for each thing that was timed, from the files in results/ to Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks import figures
from benchmarks.corpora import ALL, NAMES
from benchmarks.encode import FAST, ONE_THREAD, WAYS
from benchmarks.markdown import conditions, percent, probability, result, table

VNNI = "AVX-512 with VNNI"

PROCESSOR: Mapping[str, str] = {
    "first": "first tag, empty cache",
    "second": "the same, second run",
    "saved": "first tag of a saved tagger, empty cache",
    "again": "the same, second run",
    "documents": "documents a second",
    "train auto": "`train auto`: 50 labelled and 3,000 other documents, empty cache",
    "retrain auto": "the same, second run",
    "train all": "`train auto`: all labelled documents",
}
"What `benchmarks processor` calls a case, and what the table does."


class Line(NamedTuple):
    """What was timed, how long it took, and the command that times it."""

    what: str
    measured: str
    command: str


def brief() -> Iterator[str]:
    """What `docs/results/index.md` shows."""
    lines = (next(part()) for part in (first_tag, encoding))
    yield from table(["what", "measured"], ([line.what, line.measured] for line in lines))


def speed() -> Iterator[str]:
    """All that was timed."""
    yield from table(["what", "measured", "command"], (line for part in (first_tag, encoding) for line in part()))


def first_tag() -> Iterator[Line]:
    """One document and a large vocabulary, nothing cached."""
    weights = figures.read(figures.RESULTS / "weights.json")

    def said(corpus: str, times: Mapping[str, Any]) -> str:
        labels = f", {weights[corpus]['labels']:,} labels" if corpus in weights else ""
        now, held = times["as it is"], [level for level in ("AVX2", VNNI) if level in times]
        others = [f"{times[level]['line']['median']} s limited to {level}" for level in held]
        others += [f"{now['before']['line']['median']} s at commit c9d28082"] * ("before" in now)
        others += [f"{now['whole']['median']} s in total", f"{now['again']['median']} s on later runs"]
        return f"{corpus}{labels}: {now['line']['median']} s ({', '.join(others)})"

    times = "; ".join(said(*each) for each in result("first")["seconds"].items())
    yield Line(
        "first line of `suggest --labels`: one document, empty cache, start-up included, median of 3",
        times,
        _of("first"),
    )


def encoding() -> Iterator[Line]:
    """The packaged encoder against sentence-transformers with its defaults."""
    measured = result("encode")

    def times(level: str, found: Mapping[str, Any]) -> str:
        kinds = [found[level][kind] for kind in ("documents", "labels")]
        each = {
            name: [kind[name]["times_as_fast"]["median"] for kind in kinds]
            for name in (*FAST, "float32")
            if name in kinds[0]
        }
        return ", ".join(f"{a:.1f} and {b:.1f} ({name})" for name, (a, b) in each.items())

    for found, threads in ((measured["speed"], ""), (measured.get(ONE_THREAD), ", one thread")):
        if found:
            held = [f"limited to {level}: {times(level, found)}" for level in (VNNI, "AVX2") if level in found]
            yield Line(
                f"encoding documents and labels{threads}: times as fast as `SentenceTransformer.encode` in float32",
                "; ".join([times("as it is", found), *held]),
                _of("encode"),
            )


def machines() -> Iterator[str]:
    """What each file of figures was measured on."""
    names = ("first", "processor", "encode")
    found = {name: figures.read(figures.RESULTS / f"{name}.json") for name in names}
    found["encode"] = found["encode"].get("speed", {})
    yield from table(
        ["file", "conditions"], ([f"`{name}.json`", conditions(each, name)] for name, each in found.items() if each)
    )


def server() -> Iterator[str]:
    """Requests of several clients at a time."""
    found = result("serve")
    body = (
        [f"{said}, {size}", *map(_answered, rows), ", ".join(f"{each['processor ms a document']:.1f}" for each in rows)]
        for name, said in (("zero-shot", "zero_shot with an encoder"), ("words", "exact match and TF-IDF"))
        for kind, size in (("single", "one document a request"), ("batches of 32", "32 documents a request"))
        for rows in (found[name][kind],)
    )
    heads = ["1 client", "8 clients", "64 clients", "processor ms a document"]
    yield from table(["documents a second; p50, p95, p99 in ms", *heads], body)


def _answered(found: Mapping[str, Any]) -> str:
    refused = found["statuses"].get("503", 0)
    times = ", ".join(f"{found[f'p{share} ms']:,.0f}" for share in (50, 95, 99))
    return f"{found['documents/s']:,.0f}/s; {times}" + (f"; {refused:,} refused" if refused else "")


def processor() -> Iterator[str]:
    """Seconds of the processor with one thread, and documents a second."""
    found, ways = result("processor"), ("words", "static", "minilm", "auto")

    def row(case: str) -> list[str]:
        kind, _, only = case.partition(" ")
        cells = found.get(kind, {})
        if only:
            cells = {"auto": cells[only]} if only in cells else {}
        return [_rounded(cells[way]["median"]) if way in cells else "" for way in ways]

    heads = ["processor seconds", "names and words", "static encoder", "MiniLM", "`auto`"]
    yield from table(heads, ([said, *cells] for case, said in PROCESSOR.items() if any(cells := row(case))))


def _rounded(seconds: float) -> str:
    """To hundredths, from 100 on to whole ones."""
    return f"{seconds:,.{0 if seconds >= 100 else 2}f}"


def precision() -> Iterator[str]:
    """What int8 and bfloat16 cost in nDCG@5, of the method and of its encoder alone."""
    found = result("encode")["quality"]
    body = (
        [corpus, f"{found[corpus]['documents']:,}", f"{found[corpus]['labels']:,}"]
        + [cell for way in WAYS for cell in _lower(found[corpus][way])]
        for corpus in ALL
        if corpus in found
    )
    ways = [f"{way}{key}" for way in ("", "encoder alone, ") for key in ("float32", *FAST)]
    yield from table(["nDCG@5", "documents", "labels", *ways], body)


def _lower(found: Mapping[str, Any]) -> list[str]:
    """float32, and how far the others are from it."""
    tests = (_against(found[key]["against float32"]["nDCG@5"]) if key in found else "" for key in FAST)
    return [percent(found["float32"]["nDCG@5"]), *tests]


def first_tag_quality() -> Iterator[str]:
    """What the short way of the first tag costs: only proposed labels encoded, against all."""
    found, measures = result("first")["quality"], ("P@1", "P@5", "nDCG@5")
    body = (
        [corpus, f"{found[corpus]['documents']:,}"]
        + [
            f"{percent(found[corpus]['quick'][m])} ({_against(found[corpus]['quick against full'][m])})"
            for m in measures
        ]
        for corpus in NAMES
        if corpus in found
    )
    yield from table(["only proposed labels encoded (difference from all)", "documents", *measures], body)


def encoders() -> Iterator[str]:
    """What each encoder takes."""
    keys = ("load", "first tag", "documents a second", "labels a second", "megabytes")
    found = result("encode").get("encoders", {})
    rows = {name: each for name, each in found.items() if isinstance(each, Mapping)}
    body = ([name, *(_short(each[key]) if key in each else "" for key in keys)] for name, each in rows.items())
    yield from table(["encoder", "load, s", "first tag, s", "documents/s", "labels/s", "MB"], body)


def _short(number: float) -> str:
    """Two digits.

    >>> _short(0.123), _short(4.56), _short(45.6), _short(2437.0)
    ('0.12', '4.6', '46', '2,400')
    """
    return f"{float(f'{number:.2g}'):,.{2 if number < 1 else 1 if number < 10 else 0}f}"


def _against(test: Mapping[str, Any]) -> str:
    return f"{100 * test['difference']['value']:+.2f}, {probability(test)}"


def _of(name: str) -> str:
    return f"`python -m benchmarks {name}`"


TABLES: Mapping[str, Callable[[], Iterable[str]]] = {
    "speed, in brief": brief,
    "speed": speed,
    "machines": machines,
    "precision": precision,
    "processor": processor,
    "first tag": first_tag_quality,
    "encoders": encoders,
    "server, speed": server,
}
