"""The tables of the server: speed, bounds, what was tried against it; from files in results/ to Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from benchmarks.markdown import result, table

WORDS, ENCODER = "Tagwright, exact match and TF-IDF", "Tagwright, zero_shot with an encoder"
KINDS = (("single", "one document a request"), ("batches of 32", "32 documents a request"))


def speed() -> Iterator[str]:
    """Requests of several clients at a time, and calls of the library one after the other."""
    found = result("serve")
    rows = list(_rows(ENCODER, found["zero-shot"]))
    for name, each in found["annif"].items():
        rows += _rows(WORDS if name == "tagwright" else f"Annif 1.4.3, {name}", each)
    for name, key in ((WORDS, "words"), (ENCODER, "zero-shot")):
        for each, when in zip(found[key]["library"], ("before", "after"), strict=True):
            called = f"{name}, library called once a document, {when} the server runs"
            rows.append([called, _figures(each), "", "", _cost([each])])
    head = ["documents a second; p50, p95, p99 in ms", "1 client", "8 clients", "64 clients", "processor ms a document"]
    yield from table(head, rows)


def bounds() -> Iterator[str]:
    """What was asked for, and what was measured."""
    found = result("serve")
    rows = [row for name, part in BOUNDS.items() if name in found for row in part(found[name])]
    yield from table(["what", "goal", "measured"], rows)


def attack() -> Iterator[str]:
    """What was tried, and what was lost."""
    found = result("attack")
    yield from table(["what", "tried", "lost", "besides"], (row for part in ATTACKS for row in part(found)))


def doors() -> Iterator[str]:
    """How long eight clients wait beside requests that are dear to answer."""
    head = ["attack beside eight clients", "p50, ms: without, with", "p99, ms", "longest, ms", "additional memory"]
    yield from table(head, (_waits(name, found) for name, found in result("doors").items() if name in DOORS))


def _waits(name: str, found: Mapping[str, Any]) -> list[str]:
    quiet, loud = found["without the attack"], found["with the attack"]
    p50, p99, most = (f"{quiet[key]:.0f}, {loud[key]:.0f}" for key in ("p50 ms", "p99 ms", "most ms"))
    return [DOORS[name], p50, f"{p99} ({found['p99 times']:.1f} times)", most, f"{found['memory above rest, MB']} MB"]


DOORS = {
    "records": "forms with a compressed file of 12,000,000 records",
    "log lines": "files of 300,000 unreadable records",
    "exports": "forty exports of 36 MB whose receiver stops reading",
    "reconcile": "queries with 100 candidates and 1,000 values of a property each",
    "mcp": "1,000,000 ids, and texts of 4 MB, to the MCP tool",
}
"What tools.attack.doors sends, by the name of its figures."


def _rows(name: str, found: Mapping[str, Any]) -> Iterator[list[str]]:
    for key, kind in KINDS:
        yield [f"{name}, {kind}", *map(_figures, found[key]), _cost(found[key])]


def _figures(found: Mapping[str, Any]) -> str:
    refused = found.get("statuses", {}).get("503", 0)
    times = ", ".join(f"{found[f'p{share} ms']:,.0f}" for share in (50, 95, 99) if f"p{share} ms" in found)
    return f"{found['documents/s']:,.0f}/s; {times}" + (f"; {refused:,} refused" if refused else "")


def _cost(found: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{each['processor ms a document']:.1f}" for each in found if each["processor ms a document"])


def _overload(found: Mapping[str, Any]) -> Iterator[list[str]]:
    refused, statuses = found["refused (503)"], found["statuses"]
    before, after = (found[f"one client {when}"]["p50 ms"] for when in ("before", "afterwards"))
    most = found["64 clients before"]["documents/s"]
    yield [
        f"{found['asked/s']:,.0f} requests/s to a server that answers {most:,.0f} (zero_shot), for "
        f"{found['seconds']:.0f} s",
        "quick 503, then recovery",
        f"{statuses.get('503', 0):,} refused, {statuses.get('200', 0):,} answered; a refusal takes "
        f"{refused['p50 ms']:,.0f} ms (p99 {refused['p99 ms']:,.0f}); waiting clients are answered within "
        f"{found['seconds until all who waited are answered']:.0f} s; one client: {before:,.0f} ms before, "
        f"{after:,.0f} afterwards",
    ]


def _labels(found: Mapping[str, Any]) -> Iterator[list[str]]:
    used = found["processor"]
    yield [
        f"search among {found['labels']:,} labels, {found['searches']:,} searches",
        "p99 under 50 ms",
        f"p50 {found['p50 ms']} ms, p95 {found['p95 ms']}, p99 {found['p99 ms']}, longest {found['longest ms']}; "
        f"in processor time p50 {used['p50 ms']}, p99 {used['p99 ms']}",
    ]


def _page(found: Mapping[str, Any]) -> Iterator[list[str]]:
    whole = found["all"] / 1000
    yield ["a page of the review, 20 suggestions, with style and script", "under 200 KB", f"{whole:.0f} KB"]


def _memory(found: Mapping[str, Any]) -> Iterator[list[str]]:
    held = found["MB after every 2,000"]
    yield [
        f"memory over {found['requests']:,} requests of 8 clients",
        "flat",
        f"{held[0]} MB before, {held[1]} after 2,000, {held[-1]} at the end",
    ]


BOUNDS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[list[str]]]] = {
    "labels": _labels,
    "page": _page,
    "memory": _memory,
    "overload": _overload,
}


def _damaged(found: Mapping[str, Any]) -> Iterator[list[str]]:
    for key, name in (
        ("requests", "damaged requests with an admin token"),
        ("requests without a token", "damaged requests without the required token"),
    ):
        if key in found:
            each = found[key]
            traces = sum(each["tracebacks in the log"].values())
            yield [name, f"{each['tried']:,}", f"{len(each['lost'])}", f"{traces} tracebacks in the log"]


def _guided(found: Mapping[str, Any]) -> Iterator[list[str]]:
    for target, each in found.get("atheris", {}).items():
        yield [f"coverage-guided inputs (atheris): {target}", f"{each['inputs']:,}", "0", ""]


def _kills(found: Mapping[str, Any]) -> Iterator[list[str]]:
    if "kills" in found:
        each = found["kills"]
        said = ", ".join(f"{count:,} {what}" for what, count in each["acknowledged"].items())
        yield [
            "kills while two reviewers decide",
            f"{each['tried']:,}",
            f"{len(each['lost'])}",
            f"acknowledged: {said}",
        ]


def _slow(found: Mapping[str, Any]) -> Iterator[list[str]]:
    if "slow clients" in found:
        each = found["slow clients"]
        kinds = each["given up after seconds"]
        given_up = "; ".join(f"{kind}: after {_span(times)} s" for kind, times in kinds.items())
        honest = each["honest answers"]
        yield [
            f"slow clients, {each['slow clients of each kind']} of each kind",
            f"{len(kinds) * each['slow clients of each kind']:,}",
            f"{sum(honest.values()) - honest.get('200', 0)}",
            f"dropped when {given_up}; others are answered in {each['honest ms']['p50']:.0f} ms (p99 "
            f"{each['honest ms']['p99']:.0f})",
        ]


def _span(times: Mapping[str, int]) -> str:
    first, last = times["first"], times["last"]
    return f"{first}" if first == last else f"{first} to {last}"


def _beside(found: Mapping[str, Any]) -> Iterator[list[str]]:
    if "beside honest clients" in found:
        each = found["beside honest clients"]
        quiet, loud = each["without the attack"], each["with the attack"]
        yield [
            "bodies of 20 MB, endless files and silent connections, beside 8 clients",
            f"{sum(sum(attack['statuses'].values()) for attack in each['attacks']):,}",
            "0",
            f"p99 of the clients {loud['p99 ms']:,.0f} ms ({quiet['p99 ms']:,.0f} without), longest "
            f"{loud['most ms']:,.0f}; memory {each['memory above it, MB']} MB above {each['memory at rest, MB']}",
        ]


ATTACKS = (_damaged, _guided, _slow, _beside, _kills)

TABLES: Mapping[str, Callable[[], Iterable[str]]] = {
    "server, speed": speed,
    "server, bounds": bounds,
    "server, attack": attack,
    "server, doors": doors,
}
