"""What elements of markup do to the words around them, in every format: nothing is glued and nothing is split."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest
from tests.readers.printed import Set, pdf
from tests.readers.reading import read, written
from tests.readers.word import word

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.readers.documents.tags import plain_text
from tagwright.text.words import raw_words


def in_word(text: str) -> bytes:
    """A Word file of one paragraph. text: what is in it, where [text] is a run and [look|text] has a look."""
    for look, tag in {"^": "vertAlign w:val='superscript'", "_": "vertAlign w:val='subscript'", "*": "b"}.items():
        text = text.replace(f"[{look}|", f"<w:r><w:rPr><w:{tag}/></w:rPr><w:t xml:space='preserve'>")
    text = text.replace("[", "<w:r><w:t xml:space='preserve'>").replace("]", "</w:t></w:r>")
    return word(f"<w:p>{text}</w:p>")


JATS = "<article><front><article-meta><abstract><p>{}</p></abstract></article-meta></front></article>"
TEI = "<TEI><teiHeader><profileDesc><abstract><p>{}</p></abstract></profileDesc></teiHeader></TEI>"
PUBMED = (
    "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><Abstract><AbstractText>{}"
    "</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"
)
DUBLIN_CORE = (
    '<dc xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A</dc:title><dc:description>{}</dc:description></dc>'
)
MARCXML = (
    '<record><leader>00000nam a2200000 a 4500</leader><controlfield tag="001">1</controlfield>'
    '<datafield tag="520" ind1=" " ind2=" "><subfield code="a">{}</subfield></datafield></record>'
)
MAKERS: dict[str, tuple[str, Callable[[str], str | bytes]]] = {
    "html": ("a.html", "<html><body><p>{}</p></body></html>".format),
    "jats": ("a.xml", JATS.format),
    "tei": ("a.xml", TEI.format),
    "pubmed": ("a.xml", PUBMED.format),
    "docx": ("a.docx", in_word),
    "latex": ("a.tex", str),
    "bibtex": ("a.bib", lambda text: f"@article{{a, abstract = {{{text}}}}}"),
    "markdown": ("a.md", str),
    "csl": ("a.json", lambda text: json.dumps([{"id": "1", "type": "book", "issued": {}, "abstract": text}])),
    "ris": ("a.ris", "TY  - JOUR\nAB  - {}\nER  - \n".format),
    "csv": ("a.csv", 'id,text\n1,"{}"\n2,Plain words.\n3,More words.\n'.format),
    "jsonl": ("a.jsonl", lambda text: json.dumps({"id": "1", "abstract": text})),
    "dublin_core": ("a.xml", DUBLIN_CORE.format),
    "dublin_core, escaped": ("a.xml", lambda text: DUBLIN_CORE.format(text.replace("<", "&lt;"))),
    "marcxml": ("a.xml", lambda text: MARCXML.format(text.replace("<", "&lt;"))),
}
FIELDS = ("html", "pubmed", "csl", "ris", "csv", "jsonl", "dublin_core", "dublin_core, escaped", "marcxml", "markdown")
"Formats whose fields hold the elements of HTML."

CASES = {
    # inline inside a word
    "or<i>ch</i>ard": ("orchard", FIELDS),
    "or<hi rend='bold'>ch</hi>ard": ("orchard", ("tei",)),
    "or<italic>ch</italic>ard": ("orchard", ("jats",)),
    "or<named-content>ch</named-content>ard": ("orchard", ("jats",)),
    "[or][*|ch][ard]": ("orchard", ("docx",)),
    "[or]<w:proofErr w:type='spellStart'/><w:bookmarkStart w:id='0' w:name='x'/>[chard]": ("orchard", ("docx",)),
    r"or\emph{ch}ard": ("orchard", ("latex", "bibtex")),
    r"{\bf or}chard \textsc{b}ees": ("orchard bees", ("latex", "bibtex")),
    r"or\-chard shelf\/ful": ("orchard shelfful", ("latex", "bibtex")),
    "or%\n   chard": ("orchard", ("latex",)),
    "or**ch**ard *bee*s ~~wa~~sp snake_case": ("orchard bees wasp snake case", ("markdown",)),
    "or<wbr>chard or&shy;chard": ("orchard orchard", ("html",)),
    "or<!-- here -->chard": ("orchard", ("html", "jats", "tei", "markdown", "pubmed")),
    # subscripts and superscripts
    "H<sub>2</sub>O, Ca<sup>2+</sup>, m<sup>2</sup>": ("H2O Ca2+ m2", (*FIELDS, "jats")),
    "H<hi rend='sub'>2</hi>O, Ca<hi rend='superscript'>2+</hi>": ("H2O Ca2+", ("tei",)),
    "[H][_|2][O, Ca][^|2+]": ("H2O Ca2+", ("docx",)),
    "<m:oMath><m:r><m:t>H</m:t></m:r><m:r><m:t>2</m:t></m:r></m:oMath>[O]": ("H2O", ("docx",)),
    r"CO$_2$, SO$_{4}$, Ca$^{2+}$, $^{14}$C": ("CO2 SO4 Ca2+ 14C", ("latex", "bibtex")),
    r"H\textsubscript{2}O, m\textsuperscript{2}, $\mathrm{CO_2}$, \ensuremath{O_3}, \ce{SO4}": (
        "H2O m2 CO2 O3 SO4",
        ("latex", "bibtex"),
    ),
    "CO$_2$, H~2~O, Ca^2+^": ("CO2 H2O Ca2+", ("markdown",)),
    "10<sup>5</sup> bees": ("10 5 bees", (*FIELDS, "jats")),
    "10$^5$ bees": ("10 5 bees", ("latex", "bibtex")),
    # a superscript that may be the mark of a note is no part of a word
    "orchards<sup>1</sup> and <i>bees</i><sup>2,3</sup>": ("orchards 1 and bees 2 3", FIELDS),
    "[orchards][^|1][ and bees]": ("orchards 1 and bees", ("docx",)),
    r"orchards$^{1}$ and bees\textsuperscript{2,3}": ("orchards 1 and bees 2 3", ("latex", "bibtex")),
    "orchards<sup>1</sup> and bees": ("orchards and bees", ("jats",)),
    "1<sup>st</sup>, M<sup>lle</sup> Low": ("1st Mlle Low", (*FIELDS, "jats")),
    # what is said to refer to a work or a note is no word
    "orchards<xref ref-type='bibr'>1</xref> and bees<sup><xref ref-type='bibr'>2</xref>,<xref ref-type='bibr'>3</xref>"
    "</sup>, wasps [<xref ref-type='bibr'>4</xref>–<xref ref-type='bibr'>6</xref>]": (
        "orchards and bees wasps",
        ("jats",),
    ),
    "as <xref ref-type='bibr'>Low, 2010</xref>, Fig. <xref ref-type='fig'>1</xref>": ("as Low 2010 Fig 1", ("jats",)),
    "orchards<ref type='bibr'>1</ref> and bees <ref type='bibr'>[2,3]</ref>": ("orchards and bees", ("tei",)),
    "orchards<sup class='reference'><a href='#c1'>[1]</a></sup> and bees<sup><a href='#f2'>2</a></sup>, "
    "ants<a href='#f3'><sup>3</sup></a>": ("orchards and bees ants", ("html",)),
    r"orchards\cite{a} and bees~\citep[p.~3]{b}, ants\supercite{c}\footcite{d}": (
        "orchards and bees ants",
        ("latex", "bibtex"),
    ),
    "orchards[^1] and [bees](https://example.org/tax-law 'Tax')\n\n[^1]: .": ("orchards and bees", ("markdown",)),
    "[orchards]<w:r><w:footnoteReference w:id='2'/></w:r>[ and bees]": ("orchards and bees", ("docx",)),
    # breaks
    "honey<br/>bees": ("honey bees", FIELDS),
    "<p>honey</p><p>bees</p>": ("honey bees", ("html", "csl", "ris", "csv", "marcxml", "dublin_core, escaped")),
    "<ul><li>honey</li><li>bees<ul><li>wax</li></ul></li></ul>": ("honey bees wax", ("html", "csl", "csv")),
    "<table><tr><td>honey</td><td>bees<table><tr><td>wax</td><td>7</td></tr></table></td></tr></table>": (
        "honey bees wax 7",
        ("html", "csl"),
    ),
    "hon-<br>ey<br>bees": ("honey bees", ("html",)),
    "honey<break/>bees hon-<break/>ey": ("honey bees honey", ("jats",)),
    "<list><list-item><p>honey</p></list-item><list-item><p>bees</p></list-item></list>": ("honey bees", ("jats",)),
    "The or<lb break='no'/>chard and the gla-<lb/>ciers near the honey<lb/>bees<pb/>fly": (
        "The orchard and the glaciers near the honey bees fly",
        ("tei",),
    ),
    "or-\n  <lb/><fw>17</fw><pb n='18' break='no'/>chard hon¬<lb/>ey": ("orchard honey", ("tei",)),
    "<lg><l>honey</l><l>bees</l></lg><w>buzz</w><w>here</w>": ("honey bees buzz here", ("tei",)),
    "[honey]<w:r><w:br/></w:r>[bees]<w:r><w:tab/></w:r>[fly well]<w:r><w:noBreakHyphen/></w:r>[known]": (
        "honey bees fly well known",
        ("docx",),
    ),
    r"honey\\bees\newline fly\hspace{1em}far~away\quad here\par there": (
        "honey bees fly far away here there",
        ("latex", "bibtex"),
    ),
    r"\begin{description}\item[honey] bees\item[wax] 7\end{description}\begin{tabular}{ll}a&b\\c&d\end{tabular}": (
        "honey bees wax 7 a b c d",
        ("latex",),
    ),
    "honey\\\nbees  \nfly<br>far": ("honey bees fly far", ("markdown",)),
    # one of several readings
    "<choice><sic>hony</sic><corr>honey</corr></choice> <choice>\n<orig>beez</orig>\n<reg>bees</reg>\n</choice>, "
    "<choice><abbr>Dr</abbr><expan>D<ex>octo</ex>r</expan></choice> <app><lem>Low</lem><rdg>Law</rdg></app>": (
        "honey bees Doctor Low",
        ("tei",),
    ),
    "<sic>hony</sic> <subst><del>wasps</del><add>bees</add></subst>": ("hony bees", ("tei",)),
    "<alternatives><tex-math>x</tex-math><inline-graphic/><math><mi>H</mi><mn>2</mn></math></alternatives>O": (
        "H2O",
        ("jats",),
    ),
    "<math><semantics><mrow><mi>H</mi><mn>2</mn></mrow><annotation>H_2</annotation></semantics></math>O": (
        "H2O",
        ("html", "csl", "pubmed"),
    ),
    "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby><ruby>字<rt>ji</rt></ruby>": ("漢 字", ("html",)),
    # what nobody sees
    "<del>honey</del><ins>bees</ins> <s>fly</s>": ("bees fly", ("html",)),
    "bees<span style='display: none'>17</span> <span hidden>no</span><template>no</template>": ("bees", ("html",)),
    "bees ![A hive](img/glacier.png), [wax][1] and <https://example.org> {#id}\n\n[1]: https://example.org/tax-law": (
        "bees A hive wax and https example org",
        ("markdown",),
    ),
    "fly<index-term><term>no</term></index-term>": ("fly", ("jats",)),
    # as other databases write it
    "H<inf>2</inf>O": ("H2O", ("csl", "ris", "csv", "jsonl", "marcxml", "dublin_core, escaped")),
    "H<ce:inf>2</ce:inf>O": ("H2O", ("csl", "ris", "csv", "jsonl", "marcxml")),
    "H&lt;sub&gt;2&lt;/sub&gt;O": ("H2O", ("csl", "ris", "csv", "jsonl", "pubmed", "dublin_core")),
    "H&lt;SUB&gt;2&lt;/SUB&gt;O &amp; caf&eacute;s, &#946;-x": ("H2O cafés β x", ("csl", "ris", "csv", "jsonl")),
    r"CO$_2$, SO$_{4}$, Ca$^{2+}$, $\mathrm{H_2O}$": (
        "CO2 SO4 Ca2+ H2O",
        ("csl", "ris", "csv", "jsonl", "marcxml", "pubmed", "dublin_core"),
    ),
    r"CO$_2$, \(H_2O\), $\alpha_i$": ("CO2 H2O alpha i", ("html", "jats", "tei", "csl", "csv", "marcxml", "pubmed")),
    # no markup
    "from $5_000 to $6_000, $my_name$ &c": ("from 5 000 to 6 000 my name c", ("csl", "ris", "csv", "jsonl")),
    "&lt; is &amp;lt;, &lt;b&gt; is bold": ("is lt b is bold", ("csl", "ris", "csv", "jsonl")),
    "a < b and c > d, <unknown> x": ("a b and c d unknown x", ("csl", "ris", "csv", "jsonl", "marcxml", "markdown")),
    "vector<int> a; if a <b and c> d; <i>x</i>": ("vector int a if a b and c d x", ("csl", "ris", "csv", "jsonl")),
    "The <b> and <title> of HTML": ("The b and title of HTML", ("csl", "ris", "csv", "jsonl", "marcxml")),
    "`a_b` is <!-- not `<b>`": ("a b is not b", ("markdown",)),
}


@pytest.mark.parametrize(
    ("name", "marked", "expected"),
    [(name, marked, words) for marked, (words, names) in CASES.items() for name in names],
)
def test_words_are_neither_glued_nor_split(tmp_path: Path, name: str, marked: str, expected: str) -> None:
    file, made = MAKERS[name]
    document = read(written(tmp_path, made(marked), file))[0]
    paragraphs = chain.from_iterable((section.heading, *section.paragraphs) for section in document.sections)
    title = "" if document.title == "A" else document.title
    text = "\n".join((title, document.abstract, *paragraphs))
    assert " ".join(raw_words(text)) == expected, text


@pytest.mark.parametrize("item", [{"type": "article-journal"}, {"type": "book", "issued": {"raw": "2001"}}])
def test_markup_of_publishers_goes_from_fields_of_csl_json(tmp_path: Path, item: dict[str, object]) -> None:
    """Even of items without anything that tells them from other JSON. The heading of the abstract is not its text."""
    item |= {"id": "a", "title": "The <i>CO</i><sub>2</sub> of <b>bees</b>", "keyword": "<i>Apis</i>, wax"}
    item["abstract"] = "<jats:title>Abstract</jats:title><jats:p>On <jats:italic>taxes</jats:italic>.</jats:p>"
    [document] = read(written(tmp_path, json.dumps([item]), "a.json"))
    assert (document.title, document.abstract) == ("The CO2 of bees", "On taxes.")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.csv", 'id,name,description\n1,"CO<sub>2</sub> of <i>bees</i>","<p>On</p><p>wax &amp; a < b</p>"\n'),
        (
            "a.jsonl",
            json.dumps(
                {"id": "1", "name": "CO<sub>2</sub> of <i>bees</i>", "description": "<p>On</p><p>wax &amp; a < b"}
            ),
        ),
        (
            "a.ttl",
            "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n<http://e.org/1> a skos:Concept ; skos:prefLabel "
            '"CO<sub>2</sub> of <i>bees</i>"@en ; skos:definition "<p>On</p><p>wax &amp; a < b</p>"@en .',
        ),
    ],
)
def test_names_and_descriptions_of_labels_hold_no_markup(tmp_path: Path, file: str, content: str) -> None:
    [label] = Vocabulary.read(written(tmp_path, content, file), language="en" if file == "a.ttl" else None)
    assert (label.names, label.description) == (("CO2 of bees",), "On\nwax & a < b")


def test_names_of_labels_hold_no_entities_and_no_formulas(tmp_path: Path) -> None:
    labels = Vocabulary.read(written(tmp_path, "id,name\n1,Taxes &amp; law\n2,CO$_2$\n3,R&D\n", "a.csv"))
    assert [label.names for label in labels] == [("Taxes & law",), ("CO2",), ("R&D",)]


def test_a_label_that_is_named_with_markup_is_found_for_documents_that_are_labelled_so(tmp_path: Path) -> None:
    labels = Vocabulary.read(written(tmp_path, "CO<sub>2</sub>\nList<int>\n", "a.txt"))
    assert [label.names for label in labels] == [("CO2",), ("List<int>",)]
    for name, content in (
        ("b.csv", "text,labels\nBees fly.,CO<sub>2</sub>\n"),
        ("b.jsonl", '{"text": "Bees.", "labels": ["CO<sub>2</sub>"]}'),
    ):
        [document] = read(written(tmp_path, content, name))
        assert document.labels == (labels[0].id,)


def test_footnotes_are_read_behind_what_they_interrupt(tmp_path: Path) -> None:
    text = "<div><p>Honey<note>Of bees.</note> is sweet.</p><p>So.</p></div>"
    tei = f"<TEI><teiHeader/><text><body>{text}</body></text></TEI>"
    assert read(written(tmp_path, tei, "a.xml"))[0].sections[0].paragraphs == ("Honey is sweet.", "Of bees.", "So.")
    assert read(written(tmp_path, r"Honey\footnote{Of \emph{bees}.} is sweet.", "a.tex"))[0].abstract == (
        "Honey is sweet.\n\nOf bees."
    )


def test_raised_numbers_of_a_pdf_are_no_part_of_a_word(tmp_path: Path) -> None:
    line = [Set("We study orchards", 700), Set("1", 704, 6, x=147), Set("and CO", 700, x=155), Set("2", 698, 6, x=184)]
    assert (
        read(written(tmp_path, pdf([[Set("A title", 750, 18), *line]]), "a.pdf"))[0].abstract
        == "We study orchards 1 and CO2"
    )


def test_numbers_of_references_are_left_out_where_json_says_which_they_are(tmp_path: Path) -> None:
    """S2ORC says so by the places of characters, in paragraphs or in the whole text."""
    text = "Of orchards1 and bees [2]."
    spans = [{"start": 11, "end": 12}, {"start": 22, "end": 25}]
    part = {"text": text, "section": "A", "cite_spans": [*spans, {"start": "x"}, None]}
    listed = {"paper_id": "1", "title": "T", "body_text": [part]}
    annotations = {"paragraph": [{"start": 0, "end": len(text)}], "bibref": spans}
    annotated = {"corpusid": "1", "title": "T", "content": {"text": text, "annotations": annotations}}
    for record in (listed, annotated):
        [document] = read(written(tmp_path, json.dumps(record), "a.jsonl"))
        assert [section.paragraphs for section in document.sections] == [("Of orchards and bees.",)]


@pytest.mark.parametrize("element", ["unknown", "x-card", "T"])
def test_what_is_no_element_of_html_is_text(element: str) -> None:
    assert plain_text(f"<p>a <{element}> b</p>") == f"a <{element}> b"


def test_records_in_python_lose_their_markup_as_files_do() -> None:
    [document] = Corpus.of([{"title": "The <i>CO</i><sub>2</sub>", "text": "<p>Of a < b</p>", "labels": ["x"]}])
    assert (document.title, document.abstract) == ("The CO2", "Of a < b")
