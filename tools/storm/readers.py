"""Damaged input: samples of every format, cut, overwritten, joined and repeated, are read or refused in one line."""

from __future__ import annotations

import gzip
import json
import logging
import random
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from types import FrameType

from tools.storm.processes import Trial, Tried

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError
from tagwright.readers.documents.files import open_sources

SLOWEST = 20
"Seconds after which a reader hangs."

INPUTS = 40
"Damaged files of one trial."

RECORDS = [
    {"id": "1", "title": "Honey bees", "abstract": "They fly.", "labels": ["bee"], "metadata": {"author": ["Ann"]}},
    {"id": "2", "title": "Rivers", "sections": [{"heading": "Banks", "level": 1, "paragraphs": ["Water."]}]},
]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS)
SAMPLES: Mapping[str, str] = {
    "x.jsonl": LINES,
    "x.json": json.dumps(RECORDS, indent=1),
    "annif.jsonl": '{"document_id": "1", "text": "Bees", "subjects": [{"uri": "<u>", "label": "bee"}]}\n',
    "futex.jsonl": '{"paper": "1", "title": "Bees", "paragraphs": [{"section": "a", "text": "b"}], "label": ["c"]}\n',
    "xc.jsonl": '{"uid": "1", "title": "Bees", "content": "They fly.", "target_ind": [1, 2], "target_rel": [1, 1]}\n',
    "s2orc.jsonl": '{"paper_id": "1", "title": "Bees", "abstract": [{"text": "a"}], "body_text": [{"text": "b"}]}\n',
    "x.csv": 'id,title,text,labels\n1,Bees,"They\nfly, ""far""",bee;wasp\n2,Rivers,Water,river\n',
    "x.tsv": "id\ttitle\ttext\n1\tBees\tThey fly\n2\tRivers\tWater\n",
    "short.tsv": "Bees fly\t<http://u/1> <http://u/2>\nRivers\t<http://u/3>\n",
    "x.txt": "Bees\n\nThey fly.\n\nWings\n=====\n\nFour.\n",
    "x.md": "# Bees\n\nThey *fly*.\n\n## Wings\n\n- four\n- long\n\n```\ncode\n```\n",
    "x.html": "<!DOCTYPE html><html><head><title>Bees</title></head><body>"
    "<h1>Wings</h1><p>Four &amp; more.</p></body></html>",
    "jats.xml": "<article><front><article-meta><title-group><article-title>Bees</article-title></title-group>"
    "<abstract><p>They fly.</p></abstract></article-meta></front><body><sec><title>Wings</title><p>Four.</p></sec>"
    "</body></article>",
    "tei.xml": '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Bees</title></titleStmt>'
    "</fileDesc></teiHeader><text><body><div><head>Wings</head><p>Four.</p></div></body></text></TEI>",
    "x.tex": "\\documentclass{article}\\title{Bees}\\begin{document}\\maketitle\\begin{abstract}They fly."
    "\\end{abstract}\\section{Wings}Four $x^2$ and \\emph{more}.\\end{document}",
}
LABELS: Mapping[str, str] = {
    "labels.jsonl": '{"id": "1", "names": ["Bees", "Apoidea"], "description": "Fly.", "broader": []}\n',
    "labels.tsv": "id\tname\tdescription\n1\tBees\tThey fly\n2\tRivers\tWater\n",
    "labels.txt": "Animals > Bees\nAnimals > Wasps\n",
    "labels.ttl": "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    '<http://u/1> a skos:Concept ; skos:prefLabel "Bees"@en .\n',
}


def documents(folder: Path, rng: random.Random) -> Tried:
    """Damaged documents."""
    samples = _samples()
    name = rng.choice(sorted(samples))
    for number in range(INPUTS):
        path = folder / f"{number}-{name}"
        path.write_bytes(_damaged(samples[name], list(samples.values()), rng))
        _read(path, lambda path: sum(1 for _, found in open_sources(path) for _ in found))
    return Tried(name, inputs=INPUTS)


def vocabularies(folder: Path, rng: random.Random) -> Tried:
    """Damaged vocabularies."""
    samples = {name: text.encode() for name, text in LABELS.items()}
    name = rng.choice(sorted(samples))
    for number in range(INPUTS):
        path = folder / f"{number}-{name}"
        path.write_bytes(_damaged(samples[name], list(samples.values()), rng))
        _read(path, Vocabulary.read)
    return Tried(name, inputs=INPUTS)


TRIALS: Mapping[str, Trial] = {"documents": documents, "vocabularies": vocabularies}


@cache
def _samples() -> dict[str, bytes]:
    """Every format as bytes."""
    import tempfile

    import docx
    import pyarrow as pa
    import pyarrow.parquet as pq
    from tests.readers.printed import page, pdf

    found = {name: text.encode() for name, text in SAMPLES.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = pa.table({"id": ["1", "2"], "title": ["Bees", "Rivers"]})
        with pa.ipc.new_file(folder / "x.arrow", table.schema) as writer:
            writer.write_table(table)
        pq.write_table(table, folder / "x.parquet")
        word = docx.Document()
        word.add_heading("Bees", 1)
        word.add_paragraph("They fly.")
        word.save(str(folder / "x.docx"))
        (folder / "x.pdf").write_bytes(pdf([page(("Bees", 16, True), "They fly.\nFar.")], "Bees"))
        (folder / "x.jsonl.gz").write_bytes(gzip.compress(LINES.encode(), mtime=0))
        return found | {file.name: file.read_bytes() for file in folder.iterdir()}


def _damaged(sample: bytes, others: list[bytes], rng: random.Random) -> bytes:
    content = bytearray(sample)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        other = rng.choice(others)
        ways: list[Callable[[], object]] = [
            partial(content.__delitem__, slice(start, end)),
            partial(content.__delitem__, slice(start, None)),
            partial(content.__setitem__, slice(start, start + 1), bytes([rng.randrange(256)])),
            partial(content.__setitem__, slice(start, start), content[start:end] * rng.choice((1, 3))),
            partial(content.__setitem__, slice(start, start), other[: rng.randrange(len(other) + 1)]),
            partial(
                content.__setitem__, slice(start, start), rng.choice((b"\0", b"\xff", b'"', b"[", b"{", b"<", b"\\"))
            ),
        ]
        rng.choice(ways)()
        if len(content) > 1 << 20:
            break
    return bytes(content)


def _read(path: Path, read: Callable[[Path], object]) -> None:
    """It is read, or refused in one line; anything else is a loss, and the input is part of what is said."""
    logging.disable()
    try:
        with _limited(SLOWEST):
            read(path)
    except Exception as error:
        if not isinstance(error, InputError) or "\n" in str(error):
            kept = path.read_bytes()[:2000]
            raise AssertionError(f"{type(error).__name__} {error} from {path.name}: {kept!r}") from error
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"not read in {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
