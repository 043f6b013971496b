from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest
from tests.readers.reading import read, refusal, written

from tagwright.types import Document, Section

DOCTYPE = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving and Interchange DTD v1.2 20190208//EN" '
    '"JATS-archivearticle1.dtd">\n'
)
FRONT = """
<front>
 <journal-meta><journal-title-group><journal-title>Journal of Bees</journal-title></journal-title-group></journal-meta>
 <article-meta>
  <article-id pub-id-type="pmc">PMC7</article-id><article-id pub-id-type="pmid">17</article-id>
  <article-id pub-id-type="doi">10.1000/BEES</article-id>
  <title-group><article-title>
   How <italic>Apis mellifera</italic><xref ref-type="fn">*</xref> flies</article-title></title-group>
  <contrib-group>
   <contrib contrib-type="author"><name><surname>Müller</surname><given-names>Ann B.</given-names></name></contrib>
   <contrib contrib-type="author"><collab>The Bee Group</collab></contrib>
   <contrib contrib-type="editor"><name><surname>Low</surname><given-names>Ed</given-names></name></contrib>
  </contrib-group>
  <pub-date><year>2021</year></pub-date>
  <abstract abstract-type="graphical"><p>A picture.</p></abstract>
  <abstract><sec><title>Background</title><p>Bees fly.</p></sec>
   <sec><title>Results</title><p>So they do.</p></sec></abstract>
  <kwd-group><kwd>wings</kwd><kwd> honey </kwd><kwd>wings</kwd></kwd-group>
  <kwd-group kwd-group-type="abbreviations"><kwd>HB: honey bee</kwd></kwd-group>
 </article-meta>
</front>"""
BODY = """
<body>
 <p>Before all sections.</p>
 <sec><label>1</label><title>Methods</title>
  <p>We looked<sup><xref ref-type="bibr">1,2</xref></sup> closely &amp; long&nbsp;enough.<fig><label>Fig. 1</label>
   <caption><p>A wing.</p></caption></fig> Then we wrote.</p>
  <sec><title>Bees</title><p>One hundred.</p><sec><title>Queens</title><p>Two.</p></sec></sec>
  <sec><p>No heading.</p></sec>
 </sec>
 <sec><title>Results</title><p>E is <inline-formula><tex-math>\\documentclass{x}</tex-math></inline-formula>great.</p>
  <list><list-item><p>first</p></list-item><list-item><p>second</p></list-item></list>
  <table-wrap><caption><p>Counts.</p></caption><table><tr><td>7</td></tr></table></table-wrap></sec>
</body>"""
BACK = """
<back>
 <ack><p>Thanks.</p></ack>
 <app-group><app><title>Appendix</title><p>More.</p></app></app-group>
 <ref-list>
  <ref><element-citation><pub-id pub-id-type="doi">10.1000/a</pub-id>
   <pub-id pub-id-type="pmid">21</pub-id></element-citation></ref>
  <ref><mixed-citation>Old.
   <ext-link xmlns:x="http://www.w3.org/1999/xlink" x:href="https://doi.org/10.1000/B"/></mixed-citation></ref>
  <ref><mixed-citation>A book without number</mixed-citation></ref>
  <ref><element-citation><pub-id pub-id-type="pmid">21</pub-id></element-citation></ref>
 </ref-list>
</back>"""


def article(*parts: str) -> str:
    return f"<article>{''.join(parts)}</article>"


def test_an_article_is_read_whole(tmp_path: Path) -> None:
    [document] = read(written(tmp_path, DOCTYPE + article(FRONT, BODY, BACK), "a.xml"))
    assert document.id == "17"
    assert document.title == "How Apis mellifera flies"
    assert document.abstract == "Background\nBees fly.\n\nResults\nSo they do."
    assert document.sections == (
        Section("", 1, ("Before all sections.",)),
        Section("Methods", 1, ("We looked closely & long enough. Then we wrote.", "A wing.")),
        Section("Bees", 2, ("One hundred.",)),
        Section("Queens", 3, ("Two.",)),
        Section("", 2, ("No heading.",)),
        Section("Results", 1, ("E is great.", "first", "second", "Counts.")),
        Section("Appendix", 1, ("More.",)),
    )
    assert document.metadata == {
        "author": ("Ann B. Müller", "The Bee Group"),
        "venue": ("Journal of Bees",),
        "year": ("2021",),
        "keyword": ("wings", "honey"),
        "reference": ("21", "10.1000/b"),
    }


def test_a_set_of_articles_is_as_many_documents(tmp_path: Path) -> None:
    articles = "<pmc-articleset>" + article(FRONT) + article(BODY) * 2 + "</pmc-articleset>"
    path = written(tmp_path, gzip.compress(articles.encode("utf-16")), "set.xml.gz")
    assert [document.id for document in read(path)] == ["17", str(path), f"{path}#2"]


BOMB = (
    "<!DOCTYPE article ["
    + '<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True))
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BOMB + "]><article><body><p>&i;</p></body></article>", 'a.xml:1: declares the XML entity "a", which is never'),
        ('<!DOCTYPE article [<!ENTITY x SYSTEM "secret.txt">]><article><body><p>&x;</p></body></article>', '"x"'),
        ('<!DOCTYPE article [<!ENTITY % x SYSTEM "http://127.0.0.1/x.dtd"> %x;]><article><body/></article>', '"x"'),
        (article(FRONT, BODY)[:-20], "is not XML (unclosed token)"),
        ("<article><body><p>x</body></article>", "a.xml:1: is not XML (mismatched tag)"),
        ("<article><body>" + "<sec>" * 100_000, "a.xml:1: nests more than 200 elements"),
        ("<article><info/><title>DocBook</title></article>", "is an article without front and body, expected JATS"),
        (
            '<?xml version="1.0" encoding="klingon"?><article/>',
            "is XML in an encoding that cannot be read (unknown encoding: klingon)",
        ),
        ("<?xml version='1.0'?><score/>", "a.xml: is XML of an unknown kind"),
        ("", "a.xml: is empty, expected documents"),
        ("%PDF-1.4 <article>", "is no PDF file"),
    ],
)
def test_what_is_damaged_or_dangerous_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    written(tmp_path, "a secret", "secret.txt")
    assert problem in refusal(written(tmp_path, text, "a.xml"))


def test_harmless_entities_are_read(tmp_path: Path) -> None:
    pictures = '<!NOTATION gif SYSTEM "gif"><!ENTITY fig SYSTEM "fig.gif" NDATA gif>'
    text = f'<!DOCTYPE article SYSTEM "x.dtd" [{pictures}]>' + article("<body><p>Apis &alpha; &unheardof;</p></body>")
    assert read(written(tmp_path, text, "a.xml"))[0].sections[0].paragraphs == ("Apis α \ufffd",)


def test_values_that_a_document_type_gives_to_every_element_are_not_kept(tmp_path: Path) -> None:
    text = f'<!DOCTYPE article [<!ATTLIST p id CDATA "{"x" * 10_000}">]>' + article(
        "<body>", "<p>a</p>" * 20_000, "</body>"
    )
    assert len(read(written(tmp_path, text, "a.xml"))[0].sections[0].paragraphs) == 20_000


def test_of_a_set_that_is_cut_off_the_whole_articles_are_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(tmp_path, f"<set>\n{article(FRONT)}{article(BODY)[:200]}", "a.xml")
    written(tmp_path, "Bees\nfly.", "b.txt")
    with caplog.at_level(logging.WARNING):
        assert [document.id for document in read(tmp_path)] == ["17", "b.txt"]
    assert [message.partition("a.xml")[2] for message in caplog.messages[:1]] == [":26: is not XML (unclosed token)"]
    assert caplog.messages[1] == "2 files: 1 read; 1 could not be read"


PUBMED = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2019//EN" "pubmed_190101.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">17</PMID><Article>
<Journal><JournalIssue><PubDate><MedlineDate>2019 May-Jun</MedlineDate></PubDate></JournalIssue>
<Title>Journal of Bees</Title></Journal><ArticleTitle>How <i>bees</i> fly.</ArticleTitle>
<Abstract><AbstractText Label="AIM">To know.</AbstractText><AbstractText>In spirals.</AbstractText></Abstract>
<AuthorList><Author><LastName>Low</LastName><ForeName>Ann</ForeName><Initials>A</Initials></Author>
<Author><CollectiveName>Bee Group</CollectiveName></Author></AuthorList><Language>eng</Language></Article>
<MeshHeadingList><MeshHeading><DescriptorName UI="D001516">Bees</DescriptorName><QualifierName>physiology
</QualifierName></MeshHeading></MeshHeadingList><KeywordList><Keyword>spirals</Keyword></KeywordList></MedlineCitation>
<PubmedData><ReferenceList><Reference><ArticleIdList><ArticleId IdType="pubmed">5</ArticleId></ArticleIdList>
</Reference></ReferenceList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>18</PMID></MedlineCitation></PubmedArticle></PubmedArticleSet>"""


@pytest.mark.parametrize("name", ["x.xml", "x"])
def test_citations_of_pubmed_have_mesh_headings_as_labels(tmp_path: Path, name: str) -> None:
    metadata = {
        "author": ("Ann Low", "Bee Group"), "venue": ("Journal of Bees",), "year": ("2019",), "keyword": ("spirals",),
        "language": ("eng",), "reference": ("5",), "label_source": ("mesh",),
    }  # fmt: skip
    assert read(written(tmp_path, PUBMED, name)) == [
        Document("17", "How bees fly.", "AIM\nTo know.\n\nIn spirals.", (), metadata, ("Bees",)),
        Document("18"),
    ]


TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0">
 <teiHeader>
  <fileDesc>
   <titleStmt><title level="a" type="main">How bees fly</title></titleStmt>
   <sourceDesc><biblStruct>
    <analytic>
     <author><persName><forename type="first">Ann</forename><forename type="middle">B</forename>
      <surname>Müller</surname></persName><affiliation><orgName>Hive</orgName></affiliation></author>
     <author><affiliation>Nobody</affiliation></author>
     <idno type="DOI">10.1000/BEES</idno>
    </analytic>
    <monogr><title level="j">Journal of Bees</title>
     <imprint><date type="published" when="2021-05-01"/></imprint></monogr>
   </biblStruct></sourceDesc>
  </fileDesc>
  <profileDesc>
   <textClass><keywords><term>wings</term><term>honey</term></keywords></textClass>
   <abstract><div><p><s>Bees fly.</s> <s>So they do.</s></p></div></abstract>
  </profileDesc>
 </teiHeader>
 <text><body>
  <div><head n="1">Introduction</head><p>Bees <ref type="bibr">[1]</ref> fly.</p></div>
  <div><p>Without a heading.</p></div>
  <div><head n="2">Methods</head></div>
  <div><head n="2.1.">Bees</head><p>One <formula>x=1</formula>hundred.</p></div>
  <div><head n="2.1.1">Queens</head><p>Two.</p><div><head>Old ones</head><p>One.</p></div></div>
  <div><head>Conclusion</head><p>Yes.</p></div>
  <figure><head>Fig. 1</head><label>1</label><figDesc>A wing.</figDesc></figure>
 </body><back>
  <div type="acknowledgement"><div><p>Thanks.</p></div></div>
  <div type="annex"><div><head>Appendix</head><p>More.</p></div></div>
  <div type="references"><listBibl>
   <biblStruct><analytic><idno type="DOI">10.1000/a</idno><idno type="PMID">21</idno></analytic></biblStruct>
   <biblStruct><analytic><title>A book</title></analytic></biblStruct>
   <biblStruct><monogr><idno type="DOI">https://doi.org/10.1000/B</idno></monogr></biblStruct>
  </listBibl></div>
 </back></text>
</TEI>"""


def test_what_grobid_writes_is_read_whole(tmp_path: Path) -> None:
    expected = Document(
        "10.1000/bees",
        "How bees fly",
        "Bees fly. So they do.",
        (
            Section("Introduction", 1, ("Bees fly.", "Without a heading.")),
            Section("Methods", 1),
            Section("Bees", 2, ("One hundred.",)),
            Section("Queens", 3, ("Two.",)),
            Section("Old ones", 4, ("One.",)),
            Section("Conclusion", 1, ("Yes.",)),
            Section("Appendix", 1, ("More.",)),
            Section("", 1, ("Fig. 1", "A wing.")),
        ),
        {
            "author": ("Ann B Müller",),
            "venue": ("Journal of Bees",),
            "year": ("2021",),
            "keyword": ("wings", "honey"),
            "reference": ("21", "10.1000/b"),
        },
    )
    assert read(written(tmp_path, TEI, "bees.grobid.tei.xml")) == [expected]
    assert read(written(tmp_path, TEI, "bees.tei")) == [expected]


def test_what_a_paper_of_tei_lacks_is_blank(tmp_path: Path) -> None:
    path = written(tmp_path, "<TEI><teiHeader/></TEI>", "a.xml")
    assert read(path) == [Document(str(path))]


def test_damaged_tei_is_refused(tmp_path: Path) -> None:
    assert "is not XML (unclosed token)" in refusal(written(tmp_path, TEI[:-4], "a.xml"))
    assert "a.xml:1: is TEI without teiHeader" in refusal(written(tmp_path, "<TEI/>", "a.xml"))
    assert "a.tei: holds no documents" in refusal(written(tmp_path, "<teiCorpus/>", "a.tei"))
