"""How the time to read a file grows with it: `python -m tests.readers.strange_files [--shape x]`.

Files of every format that are as hard to read as a stranger could make them are doubled from a fifth of a second on,
four times: the last step takes at most three times the one before it, the least of three runs. What is refused in the
same time is as good. Ends with 1 where a format grows faster.
"""

from __future__ import annotations

import argparse
import gzip
import io
import logging
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

START = 0.2
"Seconds of the file that is doubled four times."
STEPS, RUNS, MOST = 4, 3, 3.0
LARGEST = 10_000_000
"Bytes up to which a file is doubled; one that is read in less than `START` then is fast enough."

Shape = Callable[[int], bytes | Mapping[str, bytes]]
"A file, or the files of a folder, with so many pieces."


class Growth(NamedTuple):
    """size: bytes of the largest file; seconds: of the last step but one and the last."""

    size: int
    seconds: tuple[float, float]

    @property
    def ratio(self) -> float:
        """How many times as long the last step takes as the one before."""
        return self.seconds[1] / max(self.seconds[0], 1e-9)


def main(arguments: list[str]) -> None:
    """Measure each shape of each format and print a line for it."""
    parser = argparse.ArgumentParser(prog="python -m tests.readers.strange_files", description=__doc__)
    parser.add_argument("--formats", nargs="+", choices=[*SHAPES], default=[*SHAPES])
    parser.add_argument("--shape", default="", help="only shapes whose name holds this")
    options = parser.parse_args(arguments)
    os.environ["TAGWRIGHT_MAX_READING_SECONDS"] = "100000"
    logging.disable(logging.WARNING)
    faster = []
    for suffix in options.formats:
        for name, shape in SHAPES[suffix].items():
            if options.shape in name:
                growth = measured(suffix, shape)
                seconds = " -> ".join(f"{each:.2f}" for each in growth.seconds)
                said = f"{suffix:9} {name:34} {growth.size:12,} bytes, {seconds} s, {growth.ratio:.1f} times"
                print(said, flush=True)  # noqa: T201
                if growth.ratio > MOST:
                    faster.append(f"{suffix} {name}")
    sys.exit(f"grows faster than its file: {', '.join(faster)}" if faster else 0)


def measured(suffix: str, shape: Shape) -> Growth:
    """Double a shape, and time the last two steps: the least of three runs, or of fewer where these are enough."""
    pieces = 500
    once(suffix, shape, 1)  # imports what it needs
    while (first := once(suffix, shape, pieces))[1] < START and first[0] < LARGEST:
        pieces *= 2
    if first[1] < START:
        return Growth(first[0], (START, first[1]))
    runs = list[tuple[tuple[int, float], tuple[int, float]]]()
    while True:
        runs.append((once(suffix, shape, pieces << STEPS - 1), once(suffix, shape, pieces << STEPS)))
        size = runs[0][1][0]
        found = Growth(size, (min(before[1] for before, _ in runs), min(last[1] for _, last in runs)))
        if found.ratio <= MOST or len(runs) == RUNS:
            return found


def once(suffix: str, shape: Shape, pieces: int) -> tuple[int, float]:
    """The bytes of a shape and the seconds of the processor in which it is read."""
    from tagwright.errors import InputError
    from tagwright.readers.documents.files import open_sources
    from tagwright.readers.limits import document_limit

    content = shape(pieces)
    files = {f"x.{suffix}": content} if isinstance(content, bytes) else content
    with tempfile.TemporaryDirectory() as folder, document_limit(1 << 30):
        for name, each in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(each)
        source = Path(folder, *files) if len(files) == 1 else Path(folder)
        begun = time.process_time()
        with suppress(InputError):
            for _, documents in open_sources(source):
                for _ in documents:
                    pass
        return sum(map(len, files.values())), time.process_time() - begun


def repeated(piece: str, before: str = "", after: str = "") -> Shape:
    return lambda pieces: (before + piece * pieces + after).encode()


def nested(begin: str, end: str, before: str = "", after: str = "") -> Shape:
    return lambda pieces: (before + begin * pieces + end * pieces + after).encode()


def numbered(piece: str, before: str = "", after: str = "") -> Shape:
    """piece: with N where its number is."""
    return lambda pieces: (before + "".join(piece.replace("N", str(n)) for n in range(pieces)) + after).encode()


def pieces_of(*pieces: str, before: str = "", after: str = "") -> dict[str, Shape]:
    """Each piece over and over; named by itself."""
    return {piece.encode("unicode_escape").decode()[:34]: repeated(piece, before, after) for piece in pieces}


def word(body: Callable[[int], str], styles: Callable[[int], str] = lambda _: "") -> Shape:
    """A Word file with this body and these styles."""

    def file(pieces: int) -> bytes:
        import docx

        plain, packed = io.BytesIO(), io.BytesIO()
        docx.Document().save(plain)
        with zipfile.ZipFile(plain) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as new:
            for name in old.namelist():
                content = old.read(name).decode("utf-8", "surrogateescape")
                if name == "word/document.xml":
                    content = content.replace("<w:body>", f"<w:body>{body(pieces)}")
                if name == "word/styles.xml":
                    content = content.replace("</w:styles>", f"{styles(pieces)}</w:styles>")
                new.writestr(name, content.encode("utf-8", "surrogateescape"))
        return packed.getvalue()

    return file


def printed(pages: Callable[[int], list[Any]]) -> Shape:
    def file(pieces: int) -> bytes:
        from tests.readers.printed import pdf

        return pdf(pages(pieces))

    return file


def lines_of_type(count: int, text: str = "bees fly") -> list[Any]:
    from tests.readers.printed import Set

    return [Set(text, 790 - 12 * (row % 60)) for row in range(count)]


def table(columns: Callable[[int], Mapping[str, list[Any]]], arrow: bool = False) -> Shape:
    """A Parquet file, or an Arrow file."""

    def file(pieces: int) -> bytes:
        import pyarrow as pa
        import pyarrow.parquet as pq

        stream, rows = io.BytesIO(), pa.table(columns(pieces))
        if arrow:
            with pa.ipc.new_file(stream, rows.schema) as writer:
                writer.write_table(rows)
        else:
            pq.write_table(rows, stream)
        return stream.getvalue()

    return file


_SHARED = "xl/sharedStrings.xml"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def sheet(rows: Callable[[int], str], texts: Callable[[int], str] = lambda _: "") -> Shape:
    """An Excel workbook with these rows below a header, and these shared texts."""

    def file(pieces: int) -> bytes:
        import openpyxl

        plain, packed, book = io.BytesIO(), io.BytesIO(), openpyxl.Workbook()
        book.active.append(["title", "labels"])
        book.save(plain)
        with zipfile.ZipFile(plain) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as new:
            for name in old.namelist():
                content = old.read(name).decode()
                if name == "xl/worksheets/sheet1.xml":
                    content = content.replace("</sheetData>", f"{rows(pieces)}</sheetData>")
                if name == "[Content_Types].xml":
                    content = content.replace(
                        "</Types>", f'<Override PartName="/{_SHARED}" ContentType="{_KIND}"/></Types>'
                    )
                new.writestr(name, content)
            new.writestr(_SHARED, f'<sst xmlns="{_SHEETS}">{texts(pieces)}</sst>')
        return packed.getvalue()

    return file


def keys(pieces: int, last: str = "") -> bytes:
    return ("{" + ", ".join(f'"k{n}": "v"' for n in range(pieces)) + last + ', "id": "1"}').encode()


_P = '<w:p><w:pPr><w:pStyle w:val="SN"/></w:pPr><w:r><w:t>bees</w:t></w:r></w:p>'
_STYLE = '<w:style w:type="paragraph" w:styleId="SN"><w:name w:val="SN"/><w:basedOn w:val="SM"/></w:style>'
_JATS = "<article><front><article-meta>", "</article-meta></front></article>"
_BODY = "<article><front/><body>", "</body></article>"
_TEI = "<TEI><teiHeader/><text><body>", "</body></text></TEI>"
_MARC = "<record><leader>00000nam a2200000 a 4500</leader>", "</record>"
_FIELD = '<datafield tag="650" ind1=" " ind2="0"><subfield code="a">bees</subfield></datafield>'
_DUBLIN_CORE = '<dc xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>a</dc:title>', "</dc>"
_PUBMED = "<PubmedArticleSet><PubmedArticle><MedlineCitation>", "</MedlineCitation></PubmedArticle></PubmedArticleSet>"

_TXT = pieces_of(
    "bees\n", "bees ", "\n", "\r", "\r\n", "__label__a b\n", "á̧", "̧́", "-\n", "\x00", "\xad",
)  # fmt: skip
_MD = pieces_of(
    "# a\n", "## a\n\n", "- a\n", "> ", "#", "`", "```\n", "a\n=\n", "a\n-\n", "---\n", "title: a\n", "|", " ", "*",
)  # fmt: skip
_TEX = pieces_of(
    "\\\\", "{", "{}", "[", "]", "}", r"\section{a}", "$a$", "$", r"\begin{a}", r"\end{a}", r"\[", r"\bees ", "%\n",
    r"\href{a}{b} ", "a\n\n", r"\cite{a}", "&", "~", r"\\[", r"\item a", r"\alpha ", r"\emph{", "''", "\\",
)  # fmt: skip
_HTML = pieces_of(
    "<div>", "<p>a", "<b>", "<table><tr><td>", "<ul><li>", "<a href=x>", "&amp;", "&", "<!--", "<h1>a</h1>", "<br>",
    "<nav>a</nav>", "<article>a</article>", "<script>", "<select><option>a", "<font>", "<meta name=a content=b>",
    "bees ", "<![", "</", "<a ", "<span>a</span>", "<div>a</div>", "<tr><td>a", "<p>a</nav>",
    "<div><p>bees fly, over, the town.</p>", "<blockquote>",
)  # fmt: skip

SHAPES: Mapping[str, Mapping[str, Shape]] = {
    "txt": _TXT,
    "md": _MD | {"front matter": repeated("a: b\n", "---\n", "---\n")},
    "tex": _TEX
    | {
        "macros": numbered("\\newcommand{\\aN}{b}\\aN "),
        "one macro": repeated("\\a ", "\\newcommand{\\a}{b}"),
        "environments": repeated("\\begin{a}b\\end{a}"),
    },
    "html": _HTML
    | {
        "attributes": numbered("aN=b ", "<p ", ">x"),
        "closed": nested("<div>a", "</div>"),
        "long": repeated("bees ", "<p>"),
    },
    "nxml": pieces_of("<p>a</p>", "<sec><title>a</title><p>b</p></sec>", before=_BODY[0], after=_BODY[1])
    | {
        f"{name} ": shape
        for name, shape in pieces_of(
            "<contrib><name><surname>a</surname></name></contrib>",
            "<abstract><p>a</p></abstract>",
            "<kwd-group><kwd>a</kwd></kwd-group>",
            "<article-id>a</article-id>",
            before=_JATS[0],
            after=_JATS[1],
        ).items()
    }
    | {
        "articles": repeated("<article><front/></article>", "<set>", "</set>"),
        "xref": repeated("<xref/>a", _BODY[0] + "<p>", "</p>" + _BODY[1]),
        "references": repeated(
            "<ref><pub-id>a</pub-id></ref>", "<article><front/><back><ref-list>", "</ref-list></back></article>"
        ),
        "attributes": numbered(' aN="b"', "<article><front/><body><p", "/></body></article>"),
        "comment": repeated("a", "<article><!--", "-->"),
        "nested": lambda pieces: (
            _BODY[0] + ("<sec>" * 150 + "a" + "</sec>" * 150) * (pieces // 100 + 1) + _BODY[1]
        ).encode(),
    },
    "tei": pieces_of("<div><head>a</head><p>b</p></div>", "<p>a</p>", "<div>a</div>", before=_TEI[0], after=_TEI[1]),
    "xml": {
        "citations": repeated("<PubmedArticle/>", "<PubmedArticleSet>", "</PubmedArticleSet>"),
        "headings": numbered(
            "<MeshHeadingList><MeshHeading><DescriptorName>N</DescriptorName></MeshHeading></MeshHeadingList>", *_PUBMED
        ),
        "dublin core": repeated("<dc:subject>a</dc:subject>", *_DUBLIN_CORE),
        "html": repeated("<p>a</p>", "<html><body>", "</body></html>"),
        "marc fields": repeated(_FIELD, *_MARC),
        "marc records": repeated(_MARC[0] + _FIELD + _MARC[1], "<collection>", "</collection>"),
    },
    "docx": {
        "paragraphs": word(lambda n: _P * n),
        "chain of styles": word(
            lambda _: "", lambda n: "".join(_STYLE.replace("SN", f"S{i}").replace("SM", f"S{i + 1}") for i in range(n))
        ),
        "cycle of styles": word(
            lambda _: "",
            lambda n: "".join(_STYLE.replace("SN", f"S{i}").replace("SM", f"S{(i + 1) % n}") for i in range(n)),
        ),
        "runs": word(lambda n: "<w:p>" + "<w:r><w:t>a</w:t></w:r>" * n + "</w:p>"),
        "rows": word(lambda n: "<w:tbl>" + "<w:tr><w:tc><w:p/></w:tc></w:tr>" * n + "</w:tbl>"),
        "nested tables": word(
            lambda n: ("<w:tbl><w:tr><w:tc>" * 60 + _P + "</w:tc></w:tr></w:tbl>" * 60) * (n // 60 + 1)
        ),
        "nested controls": word(
            lambda n: ("<w:sdt><w:sdtContent>" * 100 + _P + "</w:sdtContent></w:sdt>" * 100) * (n // 100 + 1)
        ),
    },
    "pdf": {
        "pages": printed(lambda n: [lines_of_type(3)] * n),
        "lines of a page": printed(lambda n: [lines_of_type(n)]),
        "one line": printed(lambda n: [lines_of_type(1, "bees " * n)]),
        "lines without end": printed(lambda n: [lines_of_type(n, "bees-")]),
        "equal places": printed(lambda n: [[each._replace(y=400) for each in lines_of_type(n)]]),
    },
    "ris": {
        "continued": repeated("a\n", "TY  - A\nAB  - a\n", "ER  - "),
        "references": repeated("TY  - A\nTI  - a\nER  - \n"),
        "keywords": numbered("KW  - N\n", "TY  - A\n"),
        "tags": repeated("AB  - a\n", "TY  - A\n"),
        "outside": repeated("a\n"),
        "begun": repeated("TY  - A\n"),
        "pubmed": repeated("PMID- 1\nTI  - a\n"),
        "headings": numbered("MH  - N\n", "PMID- 1\n"),
        "continued pubmed": repeated("      a\n", "PMID- 1\nAB  - a\n"),
        "authors": numbered("   aN\n", "PT J\nAU a\n", "ER"),
    },
    "bib": {
        "entries": numbered("@misc{aN, title={a}}\n"),
        "same entry": repeated("@misc{a, title={a}}\n"),
        "fields": numbered("aN={b}, ", "@misc{a, ", "}"),
        "same field": repeated("a={b}, ", "@misc{a, ", "}"),
        "braces": nested("{", "}", "@misc{a, title=", "}"),
        "parts": repeated("a # ", "@misc{a, title=", "a}"),
        "strings": numbered("@string{aN = {b}}\n"),
        "open": repeated("@misc{a, title={a\n"),
        "at": repeated("@"),
        "quotes": repeated('"', "@misc{a, title=", "}"),
        "comments": repeated("bees\n"),
        "authors": repeated("a and ", "@misc{a, author={", "}}"),
        "latex": repeated("\\\\", "@misc{a, title={", "}}"),
        "growing": numbered("@string{aN = aM # aM}\n".replace("M", "N")),
    },
    "jsonl": {
        "nested": nested("[", "]", '{"id": "1", "a": ', "}"),
        "keys": keys,
        "same key": partial(keys, last=', "k1": "v"'),
        "last key twice": lambda n: keys(n, f', "k{n - 1}": "v"'),
        "records": numbered('{"id": "N"}\n'),
        "surrogates": repeated("\\ud83d", '{"id": "1", "title": "', '"}'),
        "labels": repeated('"a", ', '{"id": "1", "labels": [', '"b"]}'),
        "sections": repeated('{"heading": "a"}, ', '{"id": "1", "sections": [', "{}]}"),
        "escapes": repeated("\\n", '{"id": "1", "title": "', '"}'),
        "paragraphs": numbered(
            '{"section": "N", "text": "a"}, ', '{"paper": "1", "paragraphs": [', '{"section": "", "text": ""}]}'
        ),
        "blank": repeated("\n"),
        "spans": repeated(
            '{"start": 0, "end": 9}, ', '{"paper_id": "1", "body_text": [{"text": "bees", "cite_spans": [', "{}]}]}"
        ),
    },
    "json": {
        "list": lambda n: ("[" + ", ".join(f'{{"id": "{i}"}}' for i in range(n)) + "]").encode(),
        "nested": nested("[", "]"),
        "csl": lambda n: (
            "[" + ", ".join(f'{{"id": "{i}", "type": "a", "issued": {{}}}}' for i in range(n)) + "]"
        ).encode(),
        "lines": repeated("\n", "[", "]"),
    },
    "csv": {
        "columns": lambda n: ("id," + ",".join(f"c{i}" for i in range(n)) + "\n" + "1," + "," * (n - 1)).encode(),
        "rows": numbered("N,a\n", "id,title\n"),
        "quotes": repeated('""', 'id,title\n1,"', '"'),
        "lines in a cell": repeated("a\n", 'id,title\n1,"', '"'),
        "cells": repeated(",a", "id,title\n1"),
        "labels": repeated("a;", "id,title,labels\n1,a,"),
        "html": repeated("<p>a", "id,title\n1,"),
    },
    "tsv": {
        "columns": lambda n: ("id\t" + "\t".join(f"c{i}" for i in range(n)) + "\n1" + "\ta" * n).encode(),
        "rows": numbered("N\ta\n", "id\ttitle\n"),
        "labels": repeated("<http://a> ", "bees\t"),
        "tabs": repeated("\t", "id\ttitle\n1"),
    },
    "mrc": {
        "records": lambda n: b"00039nam a2200037 a 4500001000200000\x1e1\x1e\x1d" * n,
        "ends": repeated("\x1d"),
        "no end": repeated("a", "00000nam a2200000 a 4500"),
    },
    "pica": {
        "fields": repeated("021A $aBees\n", "003@ $01\n"),
        "subfields": repeated("$aBees", "003@ $01\n021A "),
        "records": numbered("003@ $0N\n021A $aBees\n\n"),
    },
    "xlsx": {
        "rows": sheet(lambda n: '<row><c t="inlineStr"><is><t>a</t></is></c></row>' * n),
        "far cells": sheet(lambda n: '<row><c r="ZZZ1"><v>1</v></c></row>' * n),
        "far rows": sheet(lambda n: "".join(f'<row r="{1000 * i}"><c><v>1</v></c></row>' for i in range(1, n + 1))),
        "texts": sheet(lambda _: "<row><c><v>1</v></c></row>", lambda n: "<si><t>a</t></si>" * n),
        "cells": sheet(lambda n: f"<row>{'<c><v>1</v></c>' * n}</row>"),
    },
    "parquet": {
        "rows": table(lambda n: {"id": [str(i) for i in range(n)]}),
        "columns": table(lambda n: {"id": ["1"], **{f"c{i}": ["a"] for i in range(n)}}),
        "long lists": table(lambda n: {"id": ["1"], "labels": [["a"] * n]}),
    },
    "arrow": {
        "rows": table(lambda n: {"id": [str(i) for i in range(n)]}, arrow=True),
        "columns": table(lambda n: {"id": ["1"], **{f"c{i}": ["a"] for i in range(n)}}, arrow=True),
    },
    "jsonl.gz": {
        "members": lambda n: gzip.compress(b'{"id": "1"}\n') * n,
        "empty members": lambda n: gzip.compress(b"") * n,
        "zeros": lambda n: gzip.compress(bytes(1000 * n)),
    },
    "folder": {
        "files": lambda n: {f"{i}.txt": b"bees" for i in range(n)},
        "same names": lambda n: {f"{i}/a.txt": b"bees" for i in range(n)},
        "labels beside": lambda n: {f"{i // 2}.{('txt', 'key')[i % 2]}": b"bees" for i in range(n)},
    },
}
"""Suffix -> name of a shape -> the shape."""


if __name__ == "__main__":
    main(sys.argv[1:])
