"""What people read: one line for each reason, no wider than a screen; tables with a header."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from tests.unsure import without_confidences

from tagwright.app.suggestions import reason_line, suggestion_lines
from tagwright.combining.label_free import LabelFree
from tagwright.combining.none_fits import NoneFits
from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger import Reason, Tagger, zero_shot
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, EvidenceSpan, Label

SENTENCE = "Honey bees visit apple orchards early."  # 38 characters


def line(count: int) -> str:
    document = Document("d", abstract=" ".join([SENTENCE] * 3))
    spans = tuple(EvidenceSpan(39 * number, 39 * number + 38, 1.0) for number in range(count))
    return reason_line(Reason("dense", 0.5, 1, spans), document)


def test_a_line_of_evidence_has_the_pieces_that_fit() -> None:
    first = f' +0.50  dense #1: "{SENTENCE}" 0-38'
    assert line(0) == " +0.50  dense #1"
    assert line(1) == first
    assert line(2) == first  # 63 characters, an indent of 10, and a second piece of 48 would be 121


def test_short_pieces_stand_beside_each_other() -> None:
    document = Document("d", abstract="bees bees bees bees")
    spans = tuple(EvidenceSpan(5 * number, 5 * number + 4, 1.0) for number in range(4))
    assert reason_line(Reason("tfidf", None, None, spans), document) == 'tfidf: "bees" 0-4, "bees" 5-9, "bees" 10-14'


def test_a_good_match_that_lowers_the_score_says_why() -> None:
    reason = Reason("exact_match", -1.33, 1, (EvidenceSpan(0, 4, 1.0),), "such matches misled")
    assert (
        reason_line(reason, Document("d", title="Bees")) == ' -1.33  exact_match #1 (such matches misled): "Bees" 0-4'
    )


def test_the_first_piece_is_shown_even_where_it_does_not_fit() -> None:
    document = Document("d", abstract="x" * 99)
    found = reason_line(Reason("s" * 60, 1.0, 1, (EvidenceSpan(0, 99, 1.0),)), document)
    assert found.endswith(f'"{"x" * 59}…" 0-99')


CONFIG = zero_shot.Config(stages=("exact_match", "tfidf"), weights=(1.0, 1.0), language="english")
LABELS = Vocabulary([Label("1", ("Bees", "=Apis"), notation="595.79"), Label("2", ("=Taxes",))])
TAGGER = without_confidences(zero_shot.fit(LABELS, CONFIG))
TEXTS = [Document("a", title="Bees"), Document("b", title="Taxes")]


def lines(output: str, *, explain: bool = False, tagger: Tagger = TAGGER) -> list[str]:
    found = tagger.suggestions(TEXTS, SuggestOptions(k=1), explain=explain)
    return list(suggestion_lines(found, tagger, output))  # type: ignore[arg-type]


def test_an_explanation_says_what_made_the_confidence() -> None:
    """The best of two labels: the figure, what the formula reads of it, and once what the formula is."""
    sure = replace(TAGGER, steps=(*TAGGER.steps, LabelFree().of_vocabulary(2)))
    found = [line.strip() for line in lines("text", explain=True, tagger=sure)]
    figures = [re.fullmatch(r"(0\.\d\d)  confidence: rank 1, .*, labels in all 2", line) for line in found]
    said = " ".join(found)
    assert len(list(filter(None, figures))) == 2
    assert said.count("confidence: by a formula fitted on other corpora, without labelled documents") == 1
    best = json.loads(lines("jsonl", explain=True, tagger=sure)[0])["suggestions"][0]
    assert best["estimate"]["features"]["rank"] == 1
    assert next(filter(None, figures))[1] == f"{best['confidence']:.2f}"
    assert not any("confidence" in line for line in lines("text", explain=True))


def test_a_table_has_a_header_and_a_column_for_each_thing() -> None:
    header, *rows = lines("tsv")
    assert header == "document\trank\tid\tnotation\tname\tscore\tconfidence\tnone"
    assert len(rows) == 2
    found = dict(zip(header.split("\t"), rows[1].split("\t"), strict=True))
    assert {key: found[key] for key in ("document", "rank", "id", "name", "confidence")} == {
        "document": "b", "rank": "1", "id": "2", "name": "=Taxes", "confidence": "",
    }  # fmt: skip
    assert rows[0].startswith("a\t1\t1\t595.79\tBees\t")
    assert float(found["score"]) > 0


def test_a_table_says_how_likely_it_is_that_no_label_fits() -> None:
    estimates = replace(TAGGER, steps=(*TAGGER.steps, LabelFree().of_vocabulary(2), NoneFits(labels=2)))
    said = [json.loads(line)["none"] for line in lines("jsonl", tagger=estimates) if json.loads(line)["suggestions"]]
    cells = [row.split("\t")[-1] for row in lines("tsv", tagger=estimates)]
    assert cells[0] == "none"
    assert {*cells[1:]} == {f"{none:.3f}" for none in said}


def test_json_lines_always_have_the_name_and_the_notation_where_there_is_one() -> None:
    bees, taxes = (json.loads(line)["suggestions"][0] for line in lines("jsonl"))
    assert (bees["name"], bees["notation"]) == ("Bees", "595.79")
    assert [json.loads(line)["title"] for line in lines("jsonl")] == ["Bees", "Taxes"]
    assert taxes.keys() == {"label", "name", "score"}


def test_text_has_the_notation_between_name_and_id_where_there_is_one() -> None:
    (_, bees, _, taxes) = lines("text")
    assert bees.partition("Bees")[2] == "  595.79  [1]"
    assert taxes.partition("=Taxes")[2] == "  [2]"


def test_an_explanation_says_what_its_words_mean_where_they_first_stand() -> None:
    found = lines("text", explain=True)
    legend = [number for number, line in enumerate(found) if line.startswith("  (")]
    assert len(legend) == 1
    assert legend[0] < found.index("b  Taxes")
    assert "exact_match: its name in the text" in " ".join(" ".join(found).split())
    record = json.loads(lines("jsonl", explain=True)[0])
    assert record["meanings"]["exact_match"] == "its name in the text"
    best = record["suggestions"][0]
    assert sum(each["added"] for each in best["reasons"]) > 0.99 * best["score"]
