"""The formats of documents: which there are, what their files are called, and which function reads them.

Help and the choice of a reader take them from here. A new format is a row here, a function that takes a path and how
to read it, and a `Sample` in tests/readers/samples.py; `plain_text` is the shortest reader to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tagwright.readers.documents.records import Located


class Format(NamedTuple):
    """How files of a format are read.

    what: it is, for people. reader: module and function. suffixes: of its files, separated by spaces. options: of the
    function, beside the path and how to read it. columns: or keys, which may be named; of records, the source or field
    of the labels. rows: documents are lines or rows. paper: a file holds one document or a few; among many files a
    damaged one is reported and the rest are read. text: it does not say its encoding itself. labelled: labels may be in
    a file beside the document.
    """

    what: str
    reader: str
    suffixes: str = ""
    options: Mapping[str, str] = {}
    columns: bool = False
    rows: bool = False
    paper: bool = False
    text: bool = False
    labelled: bool = False

    @property
    def read(self) -> Callable[..., Iterator[Located]]:
        """Yields the documents of a path, each with its line, as `Reading` says."""
        module, _, function = self.reader.partition(".")
        return partial(getattr(import_module(f"tagwright.readers.documents.{module}"), function), **self.options)


_rows = partial(Format, columns=True, rows=True)
_records = partial(Format, columns=True)
_paper = partial(Format, paper=True)


def _by_pandoc(name: str, what: str, suffixes: str, *, text: bool = True) -> Format:
    """A format that needs nothing but pandoc. name: pandoc's. text: not an archive."""
    return _paper(what, "pandoc.read_by_pandoc", suffixes, {"format_": name}, text=text)


FORMATS: Mapping[str, Format] = {
    "jsonl": _rows("JSON lines", "jsonl.read_jsonl", ".jsonl .ndjson", text=True),
    "annif": _rows("Annif corpora", "jsonl.read_jsonl", options={"flavour": "annif"}, text=True),
    "xc": _rows("Extreme Classification", "jsonl.read_jsonl", options={"flavour": "xc"}, text=True),
    "micol": _rows("MICoL", "jsonl.read_jsonl", options={"flavour": "micol"}, text=True),
    "futex": _rows("FuTex", "jsonl.read_jsonl", options={"flavour": "futex"}, text=True),
    "s2orc": _rows("S2ORC", "jsonl.read_json", options={"flavour": "s2orc"}, text=True, paper=True),
    "json": _rows("JSON", "jsonl.read_json", ".json", text=True, paper=True),
    "tsv": _rows("TSV", "tables.read_tsv", ".tsv .tab", text=True),
    "csv": _rows("CSV", "tables.read_csv", ".csv", text=True),
    "xlsx": _rows("Excel", "tables.read_xlsx", ".xlsx .xlsm"),
    "parquet": _rows("Parquet", "tables.read_parquet", ".parquet .pq"),
    "arrow": _rows("Arrow", "tables.read_arrow", ".arrow .feather"),
    "text": _paper("text", "plain_text.read_text", ".txt", text=True, labelled=True),
    "lines": Format("texts with a matrix of labels", "text_lines.read_lines", text=True, rows=True),
    "markdown": _paper("Markdown", "pandoc.read_markdown", ".md .markdown", text=True),
    "latex": _by_pandoc("latex", "LaTeX", ".tex .latex"),
    "jats": _paper("JATS", "articles.read_jats", ".nxml"),
    "pubmed": _records("PubMed", "articles.read_pubmed"),
    "tei": _paper("TEI", "articles.read_tei", ".tei"),
    "html": _paper("HTML", "html.read_html", ".html .htm .xhtml", labelled=True),
    "docx": _paper("Word", "docx.read_docx", ".docx", labelled=True),
    "odt": _by_pandoc("odt", "OpenDocument", ".odt", text=False),
    "epub": _by_pandoc("epub", "EPUB", ".epub", text=False),
    "pptx": _by_pandoc("pptx", "PowerPoint", ".pptx", text=False),
    "rtf": _by_pandoc("rtf", "RTF", ".rtf"),
    "rst": _by_pandoc("rst", "reStructuredText", ".rst"),
    "org": _by_pandoc("org", "Org", ".org"),
    "mediawiki": _by_pandoc("mediawiki", "MediaWiki", ".mediawiki .wiki"),
    "ipynb": _by_pandoc("ipynb", "Jupyter notebooks", ".ipynb"),
    "typst": _by_pandoc("typst", "Typst", ".typ"),
    "pdf": _paper("PDF", "pdf.read_pdf", ".pdf", labelled=True),
    "marc": _records("MARC", "marc.read_marc", ".mrc .marc"),
    "marcxml": _records("MARCXML", "marc.read_marcxml"),
    "pica": _records("PICA+", "pica.read_pica", ".pica .pp", text=True),
    "dublin_core": _records("Dublin Core", "dublin_core.read_dublin_core"),
    "ris": _records("RIS", "bibliographies.read_ris", ".ris .nbib .ciw", text=True),
    "bibtex": _records("BibTeX", "bibliographies.read_bibtex", ".bib .bibtex", text=True),
    "csl": Format("CSL JSON", "bibliographies.read_csl", text=True),
}
"""By the names that `--input-format` takes. `jsonl` recognises the kinds of JSON lines itself; naming one skips that.

An installed package registers another one by an entry point in the group `tagwright.readers`: its name is that of the
format and the suffix of its files, and it names a function that takes a Path and yields Documents.
"""


def listed_formats() -> str:
    """All formats in a line, for help."""
    return ", ".join(format_.what for format_ in FORMATS.values())


def listed_suffixes(*, papers: bool) -> str:
    """How files of the formats are called, for pages in any language. papers: only files of one document or a few."""
    formats = [format_ for format_ in FORMATS.values() if format_.suffixes and (format_.paper or not papers)]
    return " ".join([*(format_.suffixes.split()[0] for format_ in formats), ".xml"])
