"""The tables of speed: a line for each thing that was timed, from the files in results/ to Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks import figures
from benchmarks.corpora import ALL, NAMES
from benchmarks.encode import FAST, ONE_THREAD, WAYS
from benchmarks.markdown import conditions, percent, probability, result, table
from benchmarks.scale_tables import batches

VNNI = "AVX-512 with VNNI"

SINGLE = ", single kernels"
"What names of rows of steps by single kernels have."

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
    parts = (first_tag, encoding, nearest_labels)
    lines = [next(part()) for part in parts]
    many, measured, _ = next(batches())
    yield from table(["what", "measured"], [*([line.what, line.measured] for line in lines), [many, measured]])


def speed() -> Iterator[str]:
    """All that was timed."""
    parts = (first_tag, commands, encoding, name_matching, nearest_labels, classifiers, papers, reranking, training)
    yield from table(["what", "measured", "command"], (line for part in parts for line in _measured(part)))


def _measured(part: Callable[[], Iterable[Line]]) -> list[Line]:
    """The lines of a part; none where it has not been measured."""
    try:
        return [*part()]
    except (FileNotFoundError, KeyError):
        return []


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


def commands() -> Iterator[Line]:
    """Whole commands, as recorded: no result file was kept."""
    found = result("recorded")
    mdn = found["evaluate on mdn, seconds"]
    yield Line(
        "`evaluate` on mdn, 1,611 pages, 14,593 labels with descriptions, empty cache, busy machine, one run each",
        f"{mdn['as it is']} s (previous version {mdn['as it is, the version before']}); {mdn[VNNI]} s limited to "
        f"{VNNI} (previous version, float32: {mdn[f'{VNNI}, float32, the version before']})",
        "`tagwright evaluate`",
    )
    yield Line(
        "`suggest` for 1,000 tib documents, 26,983 labels in the cache, busy machine, before title match and languages",
        f"{found['suggest for 1,000 tib documents, seconds']} s",
        "`tagwright suggest`",
    )
    yield Line(
        "`train futex` on 3,297 full papers, defaults, empty cache, busy machine, stopped and resumed three times",
        f"{found['train futex on 3,297 papers, minutes']} min",
        "`tagwright train futex`",
    )
    yield Line(
        "`tagwright --help`",
        f"{found['tagwright --help, processor seconds']} s of processor time",
        "`tagwright --help`",
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


def name_matching() -> Iterator[Line]:
    """Names of labels found in texts."""
    found = result("names")
    ours, made_up = found["ExactMatch"], found["made up"]
    yield Line(
        f"finding {found['names']:,} names in full papers, one core",
        f"{ours['MB/s']:.0f} MB/s (a dictionary of n-grams: {found['dictionary of n-grams']['MB/s']}); "
        f"{made_up['MB/s']} MB/s with {made_up['names']:,} made-up names",
        _of("names"),
    )


def nearest_labels() -> Iterator[Line]:
    """The index over labels."""
    found = result("dense")
    index = next(each for name, each in found.items() if name.startswith("IVF") and name.endswith("SQ8"))
    chosen = index["by effort"][str(index["chosen"])]
    alone, batch = (chosen[f"ms, batches of {size}"] for size in (1, 32))
    yield Line(
        f"the 10 nearest labels of a document, label vectors {found['labels']} (IVF, int8), one core",
        f"{alone:.1f} ms a document ({batch:.1f} in batches of 32), recall@10 {chosen['recall@10']}; "
        f"exact search {found['exact, float16']['ms, batches of 1']:,.0f} ms",
        _of("dense"),
    )


def classifiers() -> Iterator[Line]:
    """One linear SVM a label."""
    found = result("linear")
    svm, trees = found["all"]["SVM"], found["all"]["Parabel"]
    yield Line(
        f"`train svm` on tib, {svm['documents']:,} documents, {svm['labels']:,} labels that occur",
        f"{_training(svm)}; omikuji's Parabel {_training(trees)}",
        _of("linear"),
    )
    for part in [part for part in ("some labels", "some documents") if part in found]:
        ours, theirs = found[part]["SVM"], found[part]["scikit-learn"]
        yield Line(
            f"the same, {ours['labels']:,} labels and {ours['documents']:,} documents, against scikit-learn's "
            "`OneVsRestClassifier(LinearSVC)`, C = 1, one process",
            f"{found[part]['times faster']['seconds']} times as fast; P@1 {ours['P@1']:.1f} and {theirs['P@1']:.1f}",
            _of("linear"),
        )


def papers() -> Iterator[Line]:
    """Full papers by their section tree."""
    found = result("fulltext")
    for encoder, name in (("minilm", "MiniLM"), ("static", "static encoder")):
        if f"speed, {encoder}" not in found:
            continue
        cold, warm = ([each[state] for each in _papers(found[f"speed, {encoder}"])] for state in ("cold", "warm"))
        paces = [each["seconds per paper"] for each in cold]
        more = ", ".join(f"{each['MB at most'] - each['MB before']:,}" for each in cold)
        yield Line(
            f"vectors of full papers by section tree, {name}; {', '.join(_sizes(found[f'speed, {encoder}']))}",
            f"{min(paces):.2g} to {max(paces):.2g} s a paper, {cold[-1]['paragraphs per second']:,} paragraphs/s, "
            f"{1000 * warm[-1]['seconds per paper']:.0f} ms from the cache; {more} MB of further memory",
            f"{_of('fulltext')[:-1]} speed`",
        )


def reranking() -> Iterator[Line]:
    """Encoders that re-rank, against a loop as it is published."""
    found = result("rerank")
    times = (
        f"{kind}-encoder {each['times_as_fast']['median']:.1f} times as fast "
        f"({each['tagwright']['pairs_per_second']:,.0f} pairs/s; goal: {each['wanted']} times)"
        for kind, each in ((kind, found[kind]) for kind in ("bi", "cross"))
    )
    yield Line("re-ranking on epmc, against a padded float32 loop over documents", ", ".join(times), _of("rerank"))


def training() -> Iterator[Line]:
    """Contrastive training."""
    found = result("train")
    for kind, what in (
        ("static", "training the static encoder, batch 1,024"),
        ("transformer", "training MiniLM on mdn, pairs of up to 128 tokens, batch 192"),
    ):
        if kind not in found:
            continue
        ours, plain = found[kind]["ours"], found[kind]["plain"]
        rounds = found[kind]["rounds"]
        yield Line(
            f"{what}, against a plain bfloat16 loop",
            f"{ours['pairs_per_second']:,.0f} pairs/s, {found[kind]['ours / plain']:.1f} times as fast; "
            f"{ours['peak_mb'] / 1000:.1f} GB against {plain['peak_mb'] / 1000:.1f} "
            f"({'one round' if rounds == 1 else f'median of {rounds}'})",
            _of("train"),
        )
    for device, rows in figures.read(figures.RESULTS / "train-card.json").items():
        if ours := isinstance(rows, dict) and rows.get("ours, MiniLM, batch 384"):
            best = max(row["pairs_per_second"] for name, row in rows.items() if name.startswith("plain"))
            yield Line(
                f"training MiniLM on mdn, pairs of up to 128 tokens, batch 384, {device}, against the best plain "
                "bfloat16 loop",
                f"{ours['pairs_per_second']:,.0f} pairs/s, {ours['pairs_per_second'] / best:.1f} times as fast; "
                f"{ours['share']:.1%} of the device's bfloat16 rate",
                f"{_of('train')[:-1]} --card`",
            )


def graphs() -> Iterator[str]:
    """Steps a second of a training on a GPU, by single kernels and as CUDA graphs."""
    devices = [rows for rows in result("train-card").values() if isinstance(rows, dict)]
    rows = {name: row for each in devices for name, row in each.items() if "steps_per_second" in row}
    body = [
        (name.replace(SINGLE, ""), *(f"{row['steps_per_second']}" if row else "" for row in (single, captured)))
        for name, single in rows.items()
        if SINGLE in name
        for captured in (rows.get(name.replace(SINGLE, ", as CUDA graphs")),)
    ]
    yield from table(("steps a second", "single kernels", "CUDA graphs"), body)


def machines() -> Iterator[str]:
    """What each file of figures was measured on."""
    names = (
        "first",
        "processor",
        "encode",
        "names",
        "dense",
        "linear",
        "fulltext",
        "rerank",
        "train",
        "train-card",
        "recorded",
    )
    parts = {"encode": "speed", "fulltext": "speed, minilm"}
    read = {name: figures.read(figures.RESULTS / f"{name}.json") for name in names}
    found = {name: each.get(parts[name]) if name in parts else each for name, each in read.items()}
    yield from table(
        ["file", "conditions"], ([f"`{name}.json`", conditions(each, name)] for name, each in found.items() if each)
    )


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


def _training(found: Mapping[str, Any]) -> str:
    return f"{found['seconds']:.0f} s, {found['peak MB'] / 1000:.1f} GB, P@1 {found['P@1']:.1f}"


def _sizes(found: Mapping[str, Any]) -> list[str]:
    return [name for name in found if name.endswith("papers")]


def _papers(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [found[name] for name in _sizes(found)]


TABLES: Mapping[str, Callable[[], Iterable[str]]] = {
    "speed, in brief": brief,
    "speed": speed,
    "machines": machines,
    "precision": precision,
    "processor": processor,
    "first tag": first_tag_quality,
    "encoders": encoders,
    "CUDA graphs": graphs,
}
