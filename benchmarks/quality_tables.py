"""The tables of quality: a function each, from the files in results/ to lines of Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Any

from benchmarks import figures
from benchmarks.corpora import ALL as CORPORA
from benchmarks.curve_plot import number, points
from benchmarks.markdown import LEVEL, change, conditions, interval, percent, probability, result, slashed, table

TRAINED = ("svm", "knn", "knn_dense", "depl_cls", "rts")
"The stages that `train auto` trains."

SIZES = {"0": "none", "50": "50", "300": "300", "all": "all"}
"Labelled documents of the table in brief."


ELSEWHERE = "debtags"
"The corpus that `python -m benchmarks debtags` makes, measured with `--folder`."

ALONE = ("zero_shot", "knn", "svm", "auto")
"Methods that are compared over labelled documents."

MACLR = "MACLR 7: all"

SAID: Mapping[str, str] = {
    "before": "English only, no title match, the encoder always trusted",
    "languages": "and the language recognised",
    "trust": "and the encoder trusted by language",
    "titles": "**and title match: the default**",
    "exact_match, tfidf": "exact match and TF-IDF alone",
    "exact_match": "exact match",
    "bm25 title_and_abstract": "BM25, title and abstract",
    "bm25 text": "BM25, whole text",
    "tfidf": "TF-IDF",
    "tfidf, described": "TF-IDF, with keywords",
    "tfidf title_and_abstract": "TF-IDF, title and abstract",
    "tfidf text": "TF-IDF, whole text",
    "dense": "encoder",
    "dense, described": "encoder, with keywords",
    "dense name": "encoder, names of labels",
    "dense text": "encoder, texts of labels",
    "dense both": "encoder, mean of both",
    "zeroshot": "zero_shot",
    "zeroshot, described": "zero_shot, with keywords",
    "zero-shot": "zero_shot, before title match and languages",
    "all labels: names": "all labels: exact match",
    "RTS, no groups": "RTS, no false-negative masking",
    "mentions in the abstract and mentions": "both mentions",
}
"What rows are called in the result files -> what they are called now."

_PARTS: Mapping[str, str] = {
    "mentions in the abstract and mentions and ": "both mentions and ",
    "with mentions, append, N = 5": "**with mentions, append, N = 5**",
}


def said(row: str) -> str:
    """A row's name for readers.

    >>> said("tfidf title_and_abstract"), said("RTS")
    ('TF-IDF, title and abstract', 'RTS')
    """
    if row in SAID:
        return SAID[row]
    for old, new in _PARTS.items():
        row = row.replace(old, new)
    return row


def overview() -> Iterator[str]:
    """The methods on all corpora, P@1 / nDCG@5, and the paper's MICoL and FuTex beside ours."""
    weights, unsupervised, metadata = result("weights"), result("unsupervised"), result("metadata")
    full_papers = {key: row for key, row in result("fulltext").items() if key.startswith("epmc")}
    supervised = result("supervised")
    columns = _corpora(weights)
    zero_shot = {corpus: {m: each["a"] for m, each in weights[corpus]["titles"].items()} for corpus in columns}
    words = {corpus: {m: each["a"] for m, each in weights[corpus]["exact_match, tfidf"].items()} for corpus in columns}

    def of(found: Mapping[str, Any], heading: str, row: str) -> list[Any]:
        return [found.get(heading.format(corpus), {}).get(row) for corpus in columns]

    crosses = of(metadata, "{}", "cross: P->P<-P"), of(metadata, "{}", "cross: auto")  # of epmc P->P<-P too
    rows: Mapping[str, Sequence[Any]] = {
        "exact match and TF-IDF": [*words.values()],
        "**zero_shot, the default**": [*zero_shot.values()],
        "`rts --fuse`": of(unsupervised, "{}, static", "RTS, fused"),
        "`maclr`": of(unsupervised, "{}, static", MACLR),
        "`micol`, our configuration": of(metadata, "{}", "minilm: mixed, fused"),
        "`micol`, the paper's, 1,000 pairs": [path or auto for path, auto in zip(*crosses, strict=True)],
        "`futex`, our configuration": of(full_papers, "{}, minilm", "with mentions, append, N = 5"),
        "`futex`, the paper's, 1,000 pairs": of(full_papers, "{}, minilm, 700 train papers", "FuTex"),
        "`svm`, all labels": of(supervised, "{}, static", "SVM"),
        "`svm` and `depl` (`variant=depl_cls`) fused, all labels": of(
            supervised, "{}, static", "SVM and DEPL+cls, fused"
        ),
    }
    yield from side_by_side(("P@1", "nDCG@5"), columns, rows, unit=", %")


def zero_shot() -> Iterator[str]:
    """The default, and what each of its newer parts adds: nDCG@5 (P@1 / P@5; p of nDCG@5 against the first row)."""
    found = result("weights")
    corpora = _corpora(found)
    yield from table(
        ["nDCG@5 (P@1 / P@5; p)", *corpora],
        [
            *_sizes(found, corpora),
            *(
                [said(row), *(_compared(found[corpus][row], row) for corpus in corpora)]
                for row in _rows(found[corpora[0]])
            ),
        ],
    )
    yield from ("", conditions(found, "weights"))


def stages() -> Iterator[str]:
    """Stage by stage, and the differences of the default from each."""
    found = result("zeroshot")
    corpora = _corpora(found)
    names = {row: "**zero_shot, the default**" if row == "zeroshot" else said(row) for row in _rows(found[corpora[0]])}
    rows = {name: [found[corpus][row] for corpus in corpora] for row, name in names.items()}
    yield from side_by_side(("P@1", "P@5", "nDCG@5", "R@100"), corpora, rows, _sizes(found, corpora))
    yield from ("", conditions(found, "zeroshot"), "", "Zero-shot less each stage:", "")
    for corpus in corpora:
        for row, tests in found[corpus]["zeroshot against"].items():
            yield f"- {corpus}, {said(row)}: " + _differences(tests)


def side_by_side(
    measures: Sequence[str], columns: Sequence[str], rows: Mapping[str, Sequence[Any]], before: Any = (), unit: str = ""
) -> Iterator[str]:
    """Several measures in each cell. rows: name -> what was measured for each column, None for nothing."""
    body = ([name, *(slashed(cell, measures) for cell in cells)] for name, cells in rows.items())
    yield from table([" / ".join(measures) + unit, *columns], [*before, *body])


def unsupervised() -> Iterator[str]:
    """Without labels: the rows of both corpora, and RTS on MiniLM."""
    found = result("unsupervised")
    corpora = [corpus for corpus in CORPORA if f"{corpus}, static" in found]
    static, minilm = ([found.get(f"{corpus}, {encoder}", {}) for corpus in corpora] for encoder in ("static", "minilm"))
    rows = {said(row): [each.get(row) for each in static] for row in _rows(static[0])}
    for row, name in (("RTS", "RTS on MiniLM, 20,000 pairs"), (MACLR, "MACLR on MiniLM")):
        if any(row in each for each in minilm):
            rows[name] = [each.get(row) for each in minilm]
    yield from side_by_side(("P@1", "nDCG@5", "R@100"), corpora, rows)


def metadata() -> Iterator[str]:
    """MICoL's pairs on four corpora, the encoder alone but for `fused`."""
    found = result("metadata")
    corpora = _corpora(found, ("epmc", "mdn", "arxiv", "tib"))
    rows = dict.fromkeys(row for corpus in corpora for row in _rows(found[corpus]))
    order = sorted(rows, key=lambda row: ("static", "minilm", "blank", "cross").index(row.partition(":")[0]))
    body = {row: [found[corpus].get(row) for corpus in corpora] for row in order}
    yield from side_by_side(("P@1", "P@3", "P@5"), corpora, body)


def full_papers(heading: str) -> Iterator[str]:
    """FuTex and its parts; keywords: agreement with the authors' keywords, nDCG@10."""
    found, measures = result("fulltext")[heading], ("P@1", "P@3", "P@5", "nDCG@10", "R@20", "R@100")
    rows = _rows(found)
    keywords = ["keywords"] if "agreement with keywords" in found[rows[0]] else []
    body = (
        [
            said(row),
            *(percent(found[row][measure]) for measure in measures),
            *(percent(found[row]["agreement with keywords"]["nDCG@10"]) for _ in keywords),
        ]
        for row in rows
    )
    yield from table(["", *measures, *keywords], body)
    yield from ("", conditions(found, "fulltext"))


def supervised(heading: str) -> Iterator[str]:
    """With labels: the SVM, trees, classifiers and DEPL."""
    found = result("supervised")[heading]
    head = ["P@1 / P@3 / P@5", "nDCG@5", "R@100", "PSP@5", "macro-F1@5", "tail macro-F1@5", "unseen P@1", "seconds"]
    yield from table(["", *head], ([row, *_supervised(found[row])] for row in _rows(found)))
    yield from ("", conditions(found, "supervised"))


def label_free() -> Iterator[str]:
    """ECE@5 of the confidences without labels, each corpus left out of the fit."""
    found = result("calibration")["label-free"]
    rows = {"unknown": "labels per document unknown", "known": "labels per document known"}
    corpora = _corpora(found["known"])
    body = ([title, *(interval(found[row][corpus]["ECE@5"]) for corpus in corpora)] for row, title in rows.items())
    yield from table(["ECE@5", *corpora], body)


def none_fits() -> Iterator[str]:
    """Area under the curve of documents that no label fits, and the share missed where 95% of others pass."""
    rows = result("none")["rows"]
    named = {name: {kind.rpartition(": ")[2]: cell for kind, cell in row.items()} for name, row in rows.items()}
    kinds = {name: f"documents of {name}" for name in named}
    kinds |= {"noise": "noise", "notes": "notes of an office", "taken out": "its own, gold labels removed"}
    cells = {kind: [row.get(kind) for row in named.values()] for kind in kinds}
    body = [
        [kinds[kind], *(f"{each['area']:.3f} ({percent(each['missed at 95%'])})" if each else "" for each in told)]
        for kind, told in cells.items()
    ]
    yield from table(
        ["vocabulary", *named],
        [*body, ["its own, wrongly said to fit none", *(percent(r["wrongly none"]) for r in rows.values())]],
    )


def combiner_confidence() -> Iterator[str]:
    """ECE@5 and ECE@10 of the learned combiner: the mean of the draws, and the greatest."""
    found = result("calibration")["combiner"]
    for size in ("50", "300"):
        corpora = [corpus for corpus in CORPORA if f"{corpus} {size}" in found]
        rows = ((k, (found[f"{corpus} {size}"][k] for corpus in corpora)) for k in ("ECE@5", "ECE@10"))
        body = ([k, *(f"{percent(row['mean'])} ({percent(row['greatest'])})" for row in row_of)] for k, row_of in rows)
        yield from ("", f"{size} labelled documents:", "")
        yield from table(["", *corpora], body)


def method_confidence() -> Iterator[str]:
    """ECE@5 of each method with 300 labelled documents: the mean of the draws, and the greatest of several."""
    found = result("calibration")["methods"]
    by_corpus = {corpus: found[f"{corpus} 300"] for corpus in ("kirja", "tib")}

    def said(rows: Mapping[str, Mapping[str, float]]) -> str:
        errors = [row["ECE@5"] for row in rows.values()]
        return percent(mean(errors)) + f" ({percent(max(errors))})" * (len(errors) > 1) if errors else ""

    body = ([method, *(said(each.get(method, {})) for each in by_corpus.values())] for method in by_corpus["kirja"])
    yield from table(["ECE@5", *by_corpus], body)


def best_cut() -> Iterator[str]:
    """Micro-F1 of the classifier's default, and of the best threshold in hindsight."""
    found = result("cuts")["best cut"]
    rows = {
        "best cut without prior": "best cut, no prior",
        "best cut": "best cut by confidences, the default",
        "one threshold": "one threshold, chosen on these documents",
    }
    yield from table(
        ["micro-F1", *found], ([said, *(percent(each[row]) for each in found.values())] for row, said in rows.items())
    )


def label_thresholds() -> Iterator[str]:
    """One threshold and thresholds for each label, with the difference and its test."""
    found = result("cuts")["thresholds"]
    for measure, said in (("macro-F1@100", "macro-F1"), ("micro-F1@100", "micro-F1"), ("micro-P@100", "precision")):
        rows = {name: each[measure] for name, each in found.items()}
        body = [
            ["one threshold", *(percent(row["b"]) for row in rows.values())],
            ["thresholds of labels", *(percent(row["a"]) for row in rows.values())],
            ["difference", *(f"{change(row)} ({probability(row)})" for row in rows.values())],
        ]
        yield ""
        yield from table([said, *rows], body)


def few_labels() -> Iterator[str]:
    """The zero-shot method and the combiner learned from n labelled documents."""
    elsewhere = figures.read(figures.RESULTS / f"curve-{ELSEWHERE}.json")
    found = {**result("curve"), **({ELSEWHERE: elsewhere["tib"]} if elsewhere else {})}
    shown = _corpora(found, (*CORPORA, ELSEWHERE))
    measured = {size for corpus in shown for size in found[corpus]}
    sizes = [size for size in ("10", "20", "50", "100", "300") if size in measured]
    heads = [f"{size} labelled" for size in sizes]
    for measure in ("nDCG@5", "P@1", "P@5"):
        yield from ("", f"{measure}, %:", "")
        body = ([corpus, *_curve(found[corpus], sizes, measure)] for corpus in shown)
        yield from table(["", "zero_shot", *heads], body)
    yield from ("", "Draws in which nDCG@5 is significantly above / below zero_shot (p < 0.05):", "")
    body = ([corpus, *(_significant(found[corpus], size) for size in sizes)] for corpus in shown)
    yield from table(["", *heads], body)


def labelled_in_brief() -> Iterator[str]:
    """`train auto` by how many documents are labelled, means of the draws."""
    found = result("auto-draws")["rows"]

    def cell(corpus: str, size: str) -> str:
        draws = found.get(f"{corpus} {size}", {})
        return percent(mean(row["now"]["nDCG@5"] for row in draws.values())) if draws else ""

    corpora = [corpus for corpus in CORPORA if any(name.startswith(f"{corpus} ") for name in found)]
    body = ([title, *(cell(corpus, size) for corpus in corpora)] for size, title in SIZES.items())
    yield from table(["labelled documents: nDCG@5, %", *corpora], body)


def auto_draws() -> Iterator[str]:
    """`train auto` of this state and of the former one on the same draws; an asterisk where nDCG@5 differs."""
    body = []
    for cell, draws in result("auto-draws")["rows"].items():
        for draw, row in draws.items():
            now, before = row["now"], row.get("before", {})
            mark = "*" * (row.get("p", 1.0) < LEVEL)
            figures = (slashed(each, ("nDCG@5", "P@1", "P@5", "R@100")) if each else "" for each in (before, now))
            took = ", ".join(f"{each:.0f}" for each in now["seconds"].values())
            former, present = figures
            body.append([f"{cell}, {draw}", former, present + mark, percent(now.get("ECE@5")), now["kept"], took])
    head = ["labelled, draw", "before", "now", "ECE@5", "kept", "seconds"]
    yield from table(head, body)


def auto_means() -> Iterator[str]:
    """`train auto` of both states by corpus and size: means of the draws, and in how many nDCG@5 differs."""
    found, body = result("auto-draws"), []
    for cell, draws in found["rows"].items():
        again = [row for row in draws.values() if "before" in row]
        rows = again or [*draws.values()]
        if not cell.endswith((" 0", " all")):
            before = percent(mean(row["before"]["nDCG@5"] for row in again)) if again else ""
            now = percent(mean(row["now"]["nDCG@5"] for row in rows))
            differ = [row["now"]["nDCG@5"] - row["before"]["nDCG@5"] for row in rows if row.get("p", 1.0) < LEVEL]
            above, below = sum(gain > 0 for gain in differ), sum(gain < 0 for gain in differ)
            error = percent(mean(row["now"]["ECE@5"] for row in rows))
            test = found.get("means", {}).get(cell, {})
            tested = probability({"p": test["adjusted"]}) if "adjusted" in test else ""
            plain = test.get("against zero_shot", {})
            gain = f"{100 * plain['difference']:+.1f} ({probability({'p': plain['adjusted']})})" if plain else ""
            counts = f"{above} / {below} of {len(rows)}" if any("p" in row for row in rows) else ""
            body.append([cell, before, now, tested, counts, gain, error])
    head = ["nDCG@5, %", "before", "now", "p", "draws above / below", "less zero_shot", "ECE@5"]
    kept = [column for column, cells in enumerate(zip(*body, strict=True)) if any(cells)]
    yield from table([head[each] for each in kept], ([row[each] for each in kept] for row in body))


def auto_shift() -> Iterator[str]:
    """Whether the gain of `train auto` held on documents that were not labelled, also on those unlike the labelled."""
    body = []
    for title, draws in result("auto-draws").get("shift", {}).items():
        rows = [*draws.values()]
        gains = [f"{100 * row['gain']:+.1f}" + "*" * (row["p"] < LEVEL) for row in rows]
        said = [f"{100 * row['said']['low']:+.1f} to {100 * row['said']['high']:+.1f}" for row in rows]
        counts = [f"{row['said']['trust']:.2f}" for row in rows]
        held, below = (f"{sum(row[name] for row in rows)} of {len(rows)}" for name in ("holds", "below"))
        body.append([title, *map(", ".join, (gains, said, counts)), held, below])
    head = [
        "50 labelled",
        "gain, points",
        "interval predicted",
        "weight of the learned",
        "in interval",
        "significantly below",
    ]
    yield from table(head, body)


def auto_stages() -> Iterator[str]:
    """What each trained stage brought, in points of nDCG@5 in cross-validation; "out" where it was left out."""
    body = []
    for cell, draws in result("auto-draws")["rows"].items():
        for draw, row in draws.items() if not cell.endswith(" 0") else ():
            brought = row["now"]["brought"]
            cells = (f"{100 * brought[stage]:+.1f}" if stage in brought else "out" for stage in TRAINED)
            body.append([f"{cell}, {draw}", *cells])
    yield from table(["labelled, draw", *TRAINED], body)


def single_methods() -> Iterator[str]:
    """nDCG@5 of each method alone and of auto, by how many documents are labelled."""
    body = []
    for name, methods in result("curve-methods")["rows"].items():
        found = points(methods)
        for size in sorted({size for each in found.values() for size in each} - {"0"}, key=number):
            cells = (found.get(method, {}).get("0" if method == "zero_shot" else size) for method in ALONE)
            body.append([f"{name} {size}", *map(percent, cells)])
    yield from table(["nDCG@5, %", *ALONE], body)


def _curve(rows: Mapping[str, Any], sizes: Sequence[str], measure: str) -> Iterator[str]:
    """The untrained method, as it was scored with the smallest sample, then the learned combiner."""
    yield percent(next(row for row in rows.values() if "zero_shot" in row)["zero_shot"][measure])
    for size in sizes:
        yield percent(rows[size]["auto"][measure]) if size in rows else ""


def _significant(rows: Mapping[str, Any], size: str) -> str:
    """In how many draws the combiner is significantly better, and worse, than the untrained method."""
    row = rows.get(size, {})
    if "above" not in row:
        return ""
    return f"{row['above']} / {row['below']} of {row['draws']}"


def intervals(name: str, heading: str) -> Iterator[str]:
    """A table of results with 95% bootstrap intervals, and below it the tests between its rows."""
    found = result(name)[heading]
    rows = _rows(found)
    measures = [measure for measure, value in found[rows[0]].items() if isinstance(value, dict) and "low" in value]
    yield from (conditions(found, name), "")
    body = ([said(row), *(interval(found[row].get(m)) for m in measures), _seconds(found[row])] for row in rows)
    yield from table(["", *measures, "seconds"], body)
    yield ""
    for row in rows:
        for other, tests in found[row].get("against", {}).items():
            yield f"- {said(row)} less {said(other)}: {_differences(tests)}"


def _rows(found: Mapping[str, Any]) -> list[str]:
    return [name for name, row in found.items() if isinstance(row, dict) and "P@1" in row]


def _corpora(found: Mapping[str, Any], among: Sequence[str] = CORPORA) -> list[str]:
    return [corpus for corpus in among if corpus in found]


def _sizes(found: Mapping[str, Any], corpora: Sequence[str]) -> list[list[str]]:
    return [[key, *(f"{found[corpus][key]:,}" for corpus in corpora)] for key in ("documents", "labels")]


def _compared(tests: Mapping[str, Any], row: str) -> str:
    p = "" if row == "before" else f"; {probability(tests['nDCG@5'])}"
    return f"{percent(tests['nDCG@5']['a'])} ({percent(tests['P@1']['a'])} / {percent(tests['P@5']['a'])}{p})"


def _differences(tests: Mapping[str, Any]) -> str:
    return ", ".join(f"{measure} {change(test)}" for measure, test in tests.items())


def _seconds(row: Mapping[str, Any]) -> str:
    return f"{row['seconds']:.0f}" if "seconds" in row else ""


def _supervised(row: Mapping[str, Any]) -> Sequence[str]:
    measures = ("nDCG@5", "R@100", "PSP@5", "macro-F1@5", "macro-F1-tail@5")
    unseen = row["slices"].get("unseen", {}).get("P@1")
    return [slashed(row, ("P@1", "P@3", "P@5")), *map(percent, map(row.get, measures)), percent(unseen), _seconds(row)]


def _headings(name: str) -> list[str]:
    content = figures.read(figures.RESULTS / f"{name}.json")
    return [heading for heading, found in content.items() if isinstance(found, dict) and _rows(found)]


ROW_BY_ROW = ("unsupervised", "metadata", "fulltext", "supervised")
"Results of which each part is a table of its own."


def tables() -> dict[str, Callable[[], Iterable[str]]]:
    """Name -> what makes the lines of a table of quality."""
    headings = {name: _headings(name) for name in ROW_BY_ROW}
    return {
        **TABLES,
        **{f"full papers, {heading}": partial(full_papers, heading) for heading in headings["fulltext"]},
        **{f"supervised, {heading}": partial(supervised, heading) for heading in headings["supervised"]},
        **{
            f"intervals of {name}, {heading}": partial(intervals, name, heading)
            for name, each in headings.items()
            for heading in each
        },
    }


TABLES: Mapping[str, Callable[[], Iterable[str]]] = {
    "overview": overview,
    "zero-shot": zero_shot,
    "stages": stages,
    "unsupervised": unsupervised,
    "metadata": metadata,
    "label-free": label_free,
    "none of these": none_fits,
    "combiner confidence": combiner_confidence,
    "method confidence": method_confidence,
    "best cut": best_cut,
    "thresholds of labels": label_thresholds,
    "few labels": few_labels,
    "single methods": single_methods,
    "auto draws": auto_draws,
    "auto means": auto_means,
    "auto shift": auto_shift,
    "auto stages": auto_stages,
    "labelled, in brief": labelled_in_brief,
}
