from __future__ import annotations

from pathlib import Path

from tests.readers.reading import read, refusal, written

from tagwright.types import Document, Section

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
            Section("Introduction", 1, ("Bees [1] fly.", "Without a heading.")),
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


def test_what_a_paper_lacks_is_blank(tmp_path: Path) -> None:
    path = written(tmp_path, "<TEI><teiHeader/></TEI>", "a.xml")
    assert read(path) == [Document(str(path))]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    assert "is not XML (unclosed token)" in refusal(written(tmp_path, TEI[:-4], "a.xml"))
    assert "a.xml:1: is TEI without teiHeader" in refusal(written(tmp_path, "<TEI/>", "a.xml"))
    assert "a.tei: holds no documents" in refusal(written(tmp_path, "<teiCorpus/>", "a.tei"))
    assert "declares the XML entity" in refusal(
        written(tmp_path, '<!DOCTYPE TEI [<!ENTITY x SYSTEM "/etc/hosts">]>' + TEI.partition("\n")[2], "a.xml")
    )
