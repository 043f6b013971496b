from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pymarc
import pytest
from starlette.testclient import TestClient
from tests.readers.documents.catalogue_records import marc_record, utf8
from tests.server.conftest import reviewing, word_tagger

from tagwright.combining.steps import Contribution
from tagwright.core.versions import model_names
from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision
from tagwright.review.export import DOWNLOADS, export_lines
from tagwright.review.file import ReviewFile
from tagwright.server.access import OPEN, Access
from tagwright.server.application import application
from tagwright.server.follower import Follower
from tagwright.server.review.listing import list_documents
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.refit import REVIEWS, Refitter
from tagwright.server.review.review import Review
from tagwright.server.rows import reason_lines
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Evidence, Suggestion, Suggestions, Tagger
from tagwright.types import Document, EvidenceSpan, Label, Section

DOCUMENTS = [
    Document("d1", "Honey bees", "Bees visit orchards.", (Section("On <b>bees</b>", 1, ("Apis.",)),)),
    Document("d2", "Tax law", "On income."),
    Document("d3", "<script>alert(1)</script> bees", 'Orchards "quoted" & more.'),
]


class Page(HTMLParser):
    """The elements of a page: (tag, attributes), and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def review(tmp_path: Path) -> Review:
    return reviewing(tmp_path, *DOCUMENTS)


@pytest.fixture
def client(review: Review) -> Iterator[TestClient]:
    app = application([review.model], pages=ReviewPages(review))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def enter(client: TestClient, name: str = "Ann", **more: str) -> TestClient:
    client.cookies.clear()
    answer = client.post("/review/enter", data={"name": name, **more}, follow_redirects=False)
    assert answer.status_code == 303
    return client


def csrf(client: TestClient) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', client.get("/review/overview").text)
    assert found
    return found[1]


def decide(client: TestClient, number: int, **form: str) -> int:
    data = {"csrf": csrf(client), **form}
    return client.post(f"/review/documents/{number}", data=data, follow_redirects=False).status_code


def test_whoever_has_no_name_is_asked_for_it_once(client: TestClient) -> None:
    assert str(client.get("/review/documents/1").url).endswith("/review/enter")
    answer = client.post("/review/enter", data={"name": "  Ann  Lee "}, follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    page = client.get("/review")
    assert str(page.url).endswith("/review/documents/1")
    assert "Ann Lee" in page.text
    assert client.post("/review/enter", data={"name": " "}).status_code == 403


def test_a_document_shows_its_text_with_evidence_and_suggestions_with_reasons(client: TestClient) -> None:
    html = enter(client).get("/review/documents/1").text
    page = Page(html)
    assert ("mark", {"data-ranks": "1", "class": "on"}) in page.elements
    assert "Bees" in "".join(page.texts)
    assert "<summary>“bees”, “Apis” – its name in the text</summary>" in html
    assert "<li>“bees” – words shared with the label&#39;s text</li>" in html
    rows = [attributes for tag, attributes in page.elements if tag == "li" and "row" in (attributes.get("class") or "")]
    assert [row["data-rank"] for row in rows] == ["1", "2"]


def marked(html: str) -> set[str | None]:
    """The ranks whose evidence is marked when the page opens."""
    elements = Page(html).elements
    return {attributes["data-ranks"] for tag, attributes in elements if tag == "mark" and attributes.get("class")}


def test_one_suggestion_is_marked_the_first_without_a_verdict_or_the_one_asked_for(client: TestClient) -> None:
    enter(client)
    address = "/review/documents/1"
    assert marked(client.get(address).text) == {"1"}
    assert marked(client.get(f"{address}?evidence=2").text) == {"2"}
    assert marked(client.get(f"{address}?evidence=two").text) == {"1"}
    decide(client, 1, action="accept", label="http://x.org/bee")
    assert marked(client.get(address).text) == {"2"}
    decide(client, 1, action="reject", label="o")
    assert marked(client.get(address).text) == {"1"}


def test_the_header_says_tagger_and_vocabulary_and_a_card_the_notation(tmp_path: Path) -> None:
    tagger = word_tagger().with_labels([Label("b", ("Bees",), notation="595.799")])
    review = Review(ServedModel("bees", tagger, "Life & more"), ReviewFile(tmp_path / "reviews.sqlite"))
    review.documents.add([Document("report.pdf", "Honey bees")])
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        html = enter(client).get("/review/documents/1").text
    assert "Life &amp; more<span> · 1 label<" in html
    assert "for report.pdf" in html
    assert 'Bees <span class="notation">595.799</span>' in html


def test_reasons_against_a_label_come_last_and_small_ones_not_at_all() -> None:
    evidence = (Evidence("tfidf", 1, 1.0, (EvidenceSpan(6, 10, 1.0),)), Evidence("dense", 2, 0.5, ()))
    contributions = (Contribution("dense", 3.0), Contribution("tfidf", 1.0), Contribution("label", -2.0),
                     Contribution("document", 0.01))  # fmt: skip
    found = Suggestion("b", "Bees", 2.0, evidence=evidence, contributions=contributions, translated=("Bienen",))
    assert reason_lines(DOCUMENTS[0], found, {"tfidf": "shared words"}) == (
        "“bees” – shared words",
        "searched as “Bienen”",
        "dense",
        "against it: its name, how often it is suggested or right",
    )


def test_text_of_documents_and_labels_is_never_markup(tmp_path: Path) -> None:
    evil = '"><script>alert(2)</script><b id=x>'
    tagger = word_tagger().with_labels([Label(evil, (f"bees {evil}", "bees"), evil), Label("o", ("Orchards",))])
    review = Review(ServedModel("bees", tagger, "Bees"), ReviewFile(tmp_path / "reviews.sqlite"))
    review.documents.add([*DOCUMENTS, Document(evil, evil, evil, (Section(evil, 1, (f"bees {evil}",)),))])
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        enter(client, evil)
        decide(client, 4, action="accept", label=evil)
        decide(client, 4, action="note", note=evil)
        enter(client, "Ben")
        decide(client, 4, action="reject", label=evil)
        addresses = ["documents/3", "documents/4", "documents/4?q=bees", "documents/4/labels?q=" + evil, "overview",
                     "differences"]  # fmt: skip
        for address in addresses:
            page = Page(client.get(f"/review/{address}").text)
            scripts = [attributes for tag, attributes in page.elements if tag == "script"]
            assert all(attributes.get("src") in ("/static/review.js", "/static/page.js") for attributes in scripts)
            assert not any(tag == "b" or attributes.get("id") == "x" for tag, attributes in page.elements)
        assert "<script>alert(2)" in "".join(Page(client.get("/review/documents/4").text).texts)


def test_pages_load_nothing_from_elsewhere_and_hold_no_inline_script_or_style(client: TestClient) -> None:
    enter(client)
    for address in ("/review/documents/1?q=bees", "/review/overview", "/review/differences", "/review/enter"):
        page = Page(client.get(address).text)
        for tag, attributes in page.elements:
            assert tag != "style"
            assert not any(name == "style" or name.startswith("on") for name in attributes)
            if tag != "a" or "noreferrer" not in (attributes.get("rel") or ""):  # a label's address, opened by a click
                assert all((attributes.get(name) or "/").startswith(("/", "#")) for name in ("src", "href", "action"))
    for file in ("page.css", "page.js", "review.js", "icon.svg"):
        assert client.get(f"/static/{file}").status_code == 200
    assert client.get("/static/../serving.py").status_code == 404


def test_accept_reject_undo_and_reload(client: TestClient, review: Review) -> None:
    enter(client)
    client.get("/review/documents/1")
    decide(client, 1, action="accept", label="http://x.org/bee")
    decide(client, 1, action="reject", label="o")
    assert review.decisions.verdicts() == {
        ("d1", "http://x.org/bee"): {"Ann": "accept"}, ("d1", "o"): {"Ann": "reject"},
    }  # fmt: skip
    (accepted, rejected) = review.decisions.current()
    assert (accepted.rank, rejected.rank, accepted.model, accepted.document) == (1, 2, review.model.version, "d1")
    html = client.get("/review/documents/1").text
    assert html.count('aria-pressed="true"') == 2
    decide(client, 1, action="undo")
    assert client.get("/review/documents/1").text.count('aria-pressed="true"') == 1


CLAIMS = [
    {"rank": "-5", "confidence": "inf", "model": "invented"},
    {"rank": "9" * 30, "confidence": "nan", "model": "\ufffd" * 300},
    {"rank": "first", "confidence": "?"},
]


@pytest.mark.parametrize("claimed", CLAIMS)
def test_rank_confidence_and_model_are_those_of_what_was_shown(
    client: TestClient, review: Review, claimed: dict[str, str]
) -> None:
    enter(client)
    label = "http://x.org/bee"
    shown = Decision(
        document="d1", reviewer="Ann", action="shown", label=label, rank=3, confidence=0.25, drawn_from=7, model="older"
    )
    review.decisions.add_shown([shown])
    assert decide(client, 1, action="accept", label=label, **claimed) == 303
    assert decide(client, 1, action="accept", label="http://x.org/tax", **claimed) == 303  # never shown
    assert decide(client, 1, action="done", **claimed) == 303
    suggested, added, done = review.decisions.current()
    assert (suggested.rank, suggested.confidence, suggested.drawn_from, suggested.model) == (3, 0.25, 7, "older")
    assert (added.rank, added.confidence, added.model) == (None, None, review.model.version)
    assert done.model == review.model.version
    for line in export_lines(review.file, "decisions"):
        json.loads(line, parse_constant=pytest.fail)


def test_what_another_model_has_shown_keeps_the_name_of_that_model(client: TestClient, review: Review) -> None:
    enter(client).get("/review/documents/1")
    before = review.model.version
    review.model.swap(review.model.tagger, datetime(2026, 1, 2, tzinfo=UTC))
    assert review.model.version != before
    decide(client, 1, action="accept", label="http://x.org/bee")
    (accepted,) = review.decisions.current()
    assert (accepted.rank, accepted.model) == (1, before)


def test_labels_are_found_by_search_and_added(client: TestClient, review: Review) -> None:
    enter(client)
    assert "Add Tax law" in client.get("/review/documents/1?q=tax").text
    assert "Add Tax law" in client.get("/review/documents/1/labels?q=tax").text
    assert "No label for “wasps”" in client.get("/review/documents/1/labels?q=wasps").text
    decide(client, 1, action="accept", label="http://x.org/tax")
    assert "added by you" in client.get("/review/documents/1").text
    assert review.decisions.labels() == {"d1": ["http://x.org/tax"]}
    assert "On 1 reviewed document." in client.get("/review/documents/1/labels?q=tax").text


def many(tmp_path: Path, share: float) -> Review:
    """A review of one document that is about each of 30 labels."""
    names = [f"{first}{second}us" for first in ("bar", "dol", "fin", "gam", "kol", "mur") for second in "aeiou"]
    tagger = word_tagger().with_labels([Label(name, (name,)) for name in names])
    review = Review(ServedModel("m", tagger, "M"), ReviewFile(tmp_path / "many.sqlite"), random_share=share)
    review.documents.add([Document("d", " ".join(names))])
    return review


def test_now_and_then_a_random_candidate_is_shown_and_marked_in_the_log(tmp_path: Path) -> None:
    review = many(tmp_path, 1.0)
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        page = Page(enter(client).get("/review/documents/1").text)
        ranks = [int(attributes["data-rank"] or 0) for tag, attributes in page.elements if "data-rank" in attributes]
        *first, drawn = ranks
        assert first == list(range(1, 21))
        assert 21 <= drawn <= 30
        client.get("/review/documents/1")
        shown = review.decisions.shown("d")
        assert [event.drawn_from for event in shown.values()] == [None] * 20 + [10]
        assert len(list(review.decisions.events())) == 21  # a page that is opened again shows nothing new
        label = next(label for (_, label), event in shown.items() if event.drawn_from)
        decide(client, 1, action="accept", label=label)
        (accepted,) = review.decisions.current()
        assert (accepted.label, accepted.rank, accepted.drawn_from) == (label, drawn, 10)
        decide(client, 1, action="done")
        assert "estimated from 1 drawn at random" in (html := client.get("/review/overview").text)
        assert "0% suggested, 0 added by hand, 1 drawn at random" in html
        assert review.training_data().judged == [{label for _, label in shown}]


def folded(html: str) -> tuple[list[str], list[str]]:
    """The ranks of the suggestions that are shown at once, and of those that take a click."""
    shown, _, less = html.partition('<details class="less"')
    first, second = (re.findall(r'data-rank="(\d*)"', part) for part in (shown, less))
    return first, second


def ranks(*numbers: int) -> list[str]:
    return [str(number) for number in numbers]


def test_less_likely_suggestions_take_a_click_but_never_what_is_decided_or_in_the_record(tmp_path: Path) -> None:
    review = many(tmp_path, 0.0)
    review.show = 3
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        html = enter(client).get("/review/documents/1").text
        assert folded(html) == (ranks(1, 2, 3), ranks(*range(4, 21)))
        assert "17 more, less likely" in html
        for query, is_open in (("", False), ("?evidence=10", True), ("?evidence=2", False)):
            html_of = client.get(f"/review/documents/1{query}").text
            assert ('<details class="less" id="less" open>' in html_of) == is_open
        assert len(review.decisions.shown("d")) == 3  # what nobody has seen must not count as rejected
        label = re.findall(r'name="label" value="(\w+)"', html.partition('<details class="less"')[2])[6]
        decide(client, 1, action="reject", label=label)
        assert folded(client.get("/review/documents/1").text)[0] == ranks(1, 2, 3, 10)
        assert len(review.decisions.shown("d")) == 3
        review.documents.add([Document("e", review.documents[1].title, labels=(label,))])
        html = client.get("/review/documents/2").text
        assert folded(html)[0] == ranks(1, 2, 3, 10)
        assert "already assigned" in html
        review.show = 20
        review.documents.add([Document("f", review.documents[1].title)])
        assert folded(client.get("/review/documents/3").text) == (ranks(*range(1, 21)), [])


def test_a_verdict_on_a_suggestion_that_takes_a_click_is_one_on_a_suggestion(tmp_path: Path) -> None:
    """It has rank and confidence, and is an example to learn from; what was found by search has and is not."""
    review = many(tmp_path, 0.0)
    review.show = 3
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        html = enter(client).get("/review/documents/1").text
        less = html.partition('<details class="less"')[2]
        seen, found = re.findall(r'name="label" value="(\w+)"', less)[6:8]
        assert less.count('name="suggested" value="1"') == 17
        review.model.swap(review.model.tagger, datetime(2026, 1, 2, tzinfo=UTC))  # while the page is open
        decide(client, 1, action="accept", label=seen, suggested="1")
        searched = client.get(f"/review/documents/1?q={found}").text.partition('class="found"')[2]
        assert 'name="suggested"' not in searched.partition("</ul>")[0]
        decide(client, 1, action="accept", label=found)
        ranks_of = {event.label: event.rank for event in review.decisions.current("d") if event.label}
        assert ranks_of == {seen: 10, found: None}
        assert review.decisions.judged() == {"d": {seen}}
        assert review.decisions.statistics().right == {"total": 2, "suggested": 1, "added": 1}


def test_suggestions_below_a_confidence_take_a_click_but_never_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = many(tmp_path, 0.0)
    tagger = review.model.tagger
    (found,) = tagger.suggest([review.documents[1]], k=30)
    unsure = [replace(each, confidence=0.04 if place == 1 else 0.4) for place, each in enumerate(found)]
    monkeypatch.setattr(review.model, "suggest_all", answering([unsure]))
    monkeypatch.setattr(review.model, "explain", explaining)
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        enter(client)
        for number, (least, shown) in enumerate(((0.05, ranks(1, *range(3, 21))), (0.5, ranks(1))), 1):
            monkeypatch.setattr("tagwright.server.review.review.SHOWN_FROM", least)
            review.documents.add([Document(f"n{number}", "Bees")])
            assert folded(client.get(f"/review/documents/{number + 1}").text)[0] == shown


def answering(found: list[list[Suggestion]]) -> Any:
    async def suggest_all(_: object) -> list[Suggestions]:
        return [Suggestions(each) for each in found]

    return suggest_all


async def explaining(_: Document, suggestions: Suggestions) -> Suggestions:
    return suggestions


def test_a_candidate_is_drawn_from_all_that_are_not_shown_at_once(tmp_path: Path) -> None:
    review = many(tmp_path, 1.0)
    review.show = 3
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        first, less = folded(enter(client).get("/review/documents/1").text)
        assert first[:3] == ranks(1, 2, 3)
        assert set(first).isdisjoint(less)
        assert [event.drawn_from for event in review.decisions.shown("d").values()] == [None] * 3 + [27]


def test_nothing_is_said_to_be_added_by_you_that_you_did_not_add(tmp_path: Path) -> None:
    """Neither a label of the record that was kept, nor one that an earlier version of the tagger suggested."""
    review = reviewing(tmp_path, Document("d1", "Honey bees", "Bees visit orchards.", labels=("http://x.org/tax",)))
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        enter(client).get("/review/documents/1")
        decide(client, 1, action="accept", label="o")
        decide(client, 1, action="done")
        assert review.decisions.labels() == {"d1": ["o", "http://x.org/tax"]}
        later = word_tagger().with_labels([Label("o", ("Gardens",)), *word_tagger().vocabulary][:3])
        review.model.swap(later, datetime(2026, 1, 2, tzinfo=UTC))
        html = client.get("/review/documents/1").text
        assert "Tax law" in html
        assert "Gardens" in html
        assert "added by you" not in html


def test_done_goes_on_to_the_next_document_and_skipped_ones_come_last(client: TestClient) -> None:
    enter(client)
    token = csrf(client)
    places = []
    for number, action in ((1, "skip"), (2, "done"), (3, "done"), (1, "done")):
        data = {"csrf": token, "action": action}
        answer = client.post(f"/review/documents/{number}", data=data, follow_redirects=False)
        places.append(answer.headers["location"])
    assert places == ["/review/documents/2", "/review/documents/3", "/review/documents/1", "/review/overview"]
    assert "Every document has been reviewed" in client.get("/review").text


def test_two_reviewers_get_different_documents_first_and_both_verdicts_are_kept(
    client: TestClient, review: Review
) -> None:
    enter(client, "Ann").get("/review")
    assert str(enter(client, "Ben").get("/review").url).endswith("/2")
    enter(client, "Ann")
    decide(client, 1, action="accept", label="o")
    decide(client, 1, action="done")
    enter(client, "Ben")
    decide(client, 1, action="reject", label="o")
    assert "Ann reviewed it before" in client.get("/review/documents/1").text
    assert review.decisions.verdicts() == {("d1", "o"): {"Ann": "accept", "Ben": "reject"}}
    page = client.get("/review/differences").text
    assert "accepted by Ann; rejected by Ben" in page
    assert 'name="back"' not in page
    enter(client, "Eve")
    assert 'name="back"' in client.get("/review/differences").text
    decide(client, 1, action="accept", label="o", back="differences")
    assert "There are no differences." in client.get("/review/differences").text


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.org"}, {"Sec-Fetch-Site": "cross-site"}])
def test_forms_of_other_sites_are_refused(client: TestClient, review: Review, headers: dict[str, str]) -> None:
    enter(client)
    data = {"csrf": csrf(client), "action": "done"}
    assert client.post("/review/documents/1", data=data, headers=headers).status_code == 403
    assert client.post("/review/enter", data={"name": "x"}, headers=headers).status_code == 403
    assert list(review.decisions.events()) == []


def test_forms_without_the_token_of_the_session_are_refused(client: TestClient, review: Review) -> None:
    other = csrf(enter(client, "Ben"))
    enter(client, "Ann")
    for token in ("", "0" * 64, other):
        for address in ("documents/1", "upload", "refit"):
            answer = client.post(f"/review/{address}", data={"csrf": token, "action": "done"})
            assert answer.status_code == 403
    assert list(review.decisions.events()) == []


@pytest.mark.parametrize(
    ("number", "form", "status"),
    [
        (9, {"action": "done"}, 404),
        (1, {"action": "accept", "label": "nowhere"}, 404),
        (1, {"action": "accept"}, 400),
        (1, {"action": "delete"}, 400),
        (1, {}, 400),
    ],
)
def test_what_makes_no_sense_is_refused_on_a_page(
    client: TestClient, number: int, form: dict[str, str], status: int
) -> None:
    enter(client)
    answer = client.post(f"/review/documents/{number}", data={"csrf": csrf(client), **form})
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    missing = client.get("/review/documents/99")
    assert missing.status_code == 404
    assert 'aria-current="page"' not in missing.text  # it is none of the pages of the navigation


@pytest.mark.parametrize("number", ["9223372036854775808", "9" * 5000, "-1", "1.0", "٣", "x"])
def test_what_is_no_number_of_a_document_is_not_found(client: TestClient, number: str) -> None:
    enter(client)
    address, form = f"/review/documents/{number}", {"csrf": csrf(client), "action": "done"}
    answers = [client.get(address), client.get(f"{address}/labels?q=bees"), client.post(address, data=form)]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert all('role="alert"' in answer.text for answer in answers)


@contextmanager
def full(review: Review, table: str) -> Iterator[None]:
    """SQLite refuses every new row of the table, as it does on a full disk."""
    with closing(sqlite3.connect(review.file.path)) as database:
        say = "SELECT RAISE(FAIL, 'database or disk is full')"
        database.execute(f"CREATE TRIGGER no_room BEFORE INSERT ON {table} BEGIN {say}; END")
        yield
        database.execute("DROP TRIGGER no_room")


@pytest.mark.parametrize(
    "form",
    [{"action": "accept", "label": "o"}, {"action": "note", "note": "n"}, {"action": "undo"}, {"action": "done"}],
)
def test_on_a_full_disk_a_page_says_that_the_decision_was_not_stored(
    client: TestClient, review: Review, form: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    enter(client).get("/review/documents/1")
    before, data = list(review.decisions.events()), {"csrf": csrf(client), **form}
    with full(review, "events"):
        answer = client.post("/review/documents/1", data=data)
    assert answer.status_code == 507
    assert "<h1>Not stored</h1>" in answer.text
    assert "database or disk is full" in answer.text
    assert str(review.file.path) not in answer.text
    assert list(review.decisions.events()) == before
    (said,) = caplog.records
    assert said.exc_info is None
    assert str(review.file.path) in said.getMessage()
    assert client.post("/review/documents/1", data=data, follow_redirects=False).status_code == 303


def test_on_a_full_disk_uploads_are_not_stored(client: TestClient, review: Review) -> None:
    enter(client)
    data, files = {"csrf": csrf(client)}, [("files", ("wasps.txt", b"Wasps fly."))]
    with full(review, "documents"):
        answer = client.post("/review/upload", data=data, files=files)
    assert (answer.status_code, len(review.documents)) == (507, 3)
    assert str(review.file.path) not in answer.text


@pytest.mark.parametrize("displace", ["remove", "replace"])
def test_where_the_file_is_not_in_its_place_every_page_says_that_nothing_is_stored(
    client: TestClient, review: Review, displace: str, caplog: pytest.LogCaptureFixture
) -> None:
    enter(client).get("/review/documents/1")
    data, path = {"csrf": csrf(client), "action": "accept", "label": "o"}, review.file.path
    copy = path.with_name("copy.sqlite")
    review.file.copy_to(copy)
    path.unlink() if displace == "remove" else copy.replace(path)
    answers = [client.post("/review/documents/1", data=data, follow_redirects=False)]
    answers += [client.get(f"/review{end}") for end in ("", "/overview", "/documents/1", "/export?format=csv")]
    for answer in answers:
        assert answer.status_code == 503
        assert "<h1>Not stored</h1>" in answer.text
        assert "was replaced or removed, so nothing is stored until the server is started again" in answer.text
        assert str(path) not in answer.text
    assert str(path) in caplog.text
    if displace == "replace":
        with closing(ReviewFile.open_existing(path)) as file:
            assert not [each for each in Decisions(file).current() if each.label]


@pytest.mark.parametrize("name", ["ANN", "An\u200bn", "\uff21\uff4e\uff4e", " ann\u00a0"])
def test_a_name_that_looks_the_same_is_the_same_reviewer(client: TestClient, review: Review, name: str) -> None:
    enter(client, "Ann")
    decide(client, 1, action="accept", label="o")
    decide(client, 1, action="done")
    enter(client, name)
    assert "You have finished this document" in client.get("/review/documents/1").text
    decide(client, 1, action="reject", label="o")
    assert review.decisions.verdicts()["d1", "o"] == {"Ann": "reject"}
    assert review.decisions.differences() == []
    (row,) = list_documents(review.documents.entries(), review.decisions, name)
    assert row.reviewers == ("Ann",)


def guarded(review: Review, token: str) -> TestClient:
    access = Access.of(token)
    return TestClient(application([review.model], access=access, pages=ReviewPages(review, access)))


def test_with_a_token_nobody_comes_in_without_it_and_a_restart_ends_no_session(review: Review) -> None:
    token = "a long enough token"
    with guarded(review, token) as client:
        assert client.post("/review/enter", data={"name": "Ann", "token": "wrong"}).status_code == 403
        enter(client, token=token)
        assert client.get("/review/documents/1").status_code == 200
        cookie = client.cookies["tagwright_session"]
        assert client.get("/v1/projects").status_code == 401  # the cookie opens pages alone
    for later, expected in ((token, "/review/documents/2"), ("another long token", "/review/enter")):
        with guarded(review, later) as client:
            client.cookies.set("tagwright_session", cookie)
            assert str(client.get("/review/documents/2").url).endswith(expected)


@pytest.mark.parametrize("cookie", ["", "x", "x.y", "é.ü", "W10=.0", "." * 500])
def test_cookies_that_were_not_issued_here_count_as_none(client: TestClient, cookie: str) -> None:
    answer = client.get("/review", headers={b"cookie": f"tagwright_session={cookie}".encode()})
    assert str(answer.url).endswith("/review/enter")


def test_uploads_join_the_documents_and_broken_files_harm_nobody(client: TestClient, review: Review) -> None:
    enter(client)
    files = [("files", ("wasps.txt", b"Wasps fly.")), ("files", ("a.pdf", b"%PDF-1.7 broken"))]
    page = client.post("/review/upload", data={"csrf": csrf(client)}, files=files).text
    assert "Documents added: 1" in page
    assert "a.pdf: " in page
    assert review.documents[4].text == "Wasps fly."


def test_uploads_with_known_ids_and_other_texts_are_documents_of_their_own(client: TestClient, review: Review) -> None:
    enter(client)
    rows = b"id,title\nd4,Wasps\n%s,Hives\nd2,Tax law: On income."
    apart = "ids known with another text, each text now a document of its own: 2 (first: d1)"
    for id_, said in ((b"d1", f"Documents added: 3; {apart}</p>"), (b"d5", "Documents added: 1</p>")):
        files = [("files", ("new.csv", rows % id_))]
        assert said in client.post("/review/upload", data={"csrf": csrf(client)}, files=files).text
    assert sorted(entry.title for entry in review.documents.entries() if entry.id.startswith(("d1", "d2"))) == [
        "Hives", "Honey bees", "Tax law", "Tax law: On income.",
    ]  # fmt: skip


def test_the_overview_has_a_table_of_documents_that_can_be_filtered(client: TestClient) -> None:
    enter(client)
    decide(client, 2, action="done")
    address = "/review/overview"
    html = client.get(address).text
    assert [f"/review/documents/{number}" in html for number in (1, 2, 3)] == [True] * 3
    for query, numbers in (("?state=done", [2]), ("?state=open", [1, 3]), ("?q=HONEY", [1]), ("?q=Ann", [2])):
        html = client.get(address + query).text
        assert [number for number in (1, 2, 3) if f"/review/documents/{number}" in html] == numbers
    assert "No document matches." in client.get(f"{address}?q=wasps").text


def test_the_overview_has_a_hundred_documents_a_page(client: TestClient, review: Review) -> None:
    enter(client)
    review.documents.add(Document(f"n{number:03}", f"New {number:03}") for number in range(4, 251))
    address, seen = "/review/overview?sort=title", list[int]()
    for links in ({"next"}, {"prev", "next"}, {"prev"}):
        html = client.get(address).text
        seen += map(int, re.findall(r'href="/review/documents/(\d+)"', html))
        found = {rel: unescape(link) for rel, link in re.findall(r'rel="(prev|next)" href="([^"]*)"', html)}
        assert found.keys() == links
        address = found.get("next", found.get("prev", ""))
    assert len(seen) == len(set(seen)) == 250
    assert "Documents 201 to 250 of 250" in html
    assert "Documents 101 to 200 of 250" in client.get(address).text
    for beyond in ("301", "x", "0", "-1", "9" * 30):
        assert client.get(f"/review/overview?from={beyond}").status_code == 200


def test_suggestions_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    names = [Label("iron", ("Iron",)), Label("1", ("Damage",), broader=("iron",)), Label("2", ("Damage",))]
    review = Review(ServedModel("bees", word_tagger().with_labels(names), "M"), ReviewFile(tmp_path / "reviews.sqlite"))
    review.documents.add([Document("d", "Damage of orchards")])
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        html = enter(client).get("/review/documents/1").text
    shown = sorted(re.findall(r'<h2 id="name-\d+">(.*?)</h2>', html))
    assert shown == [f'Damage <span class="notation">{told}</span>' for told in ("2", "Iron")]


def test_the_overview_has_no_empty_statistics(client: TestClient) -> None:
    enter(client)
    assert "<dt>" not in client.get("/review/overview").text.partition("<dialog")[0]
    decide(client, 1, action="accept", label="o")
    html = client.get("/review/overview").text
    assert "<dt>Verdicts</dt>" in html
    assert "Krippendorff" not in html  # of one reviewer


def test_the_page_stays_small_however_long_the_document_is(client: TestClient, review: Review) -> None:
    review.documents.add([Document("long", "Bees", "Bees & <orchards> " * 10_000)])
    enter(client)
    answer = client.get("/review/documents/4")
    assert len(answer.content) < 200_000
    assert "more characters are not shown" in answer.text


@pytest.fixture
def blind(tmp_path: Path) -> Iterator[TestClient]:
    """A client of a review in which every document is reviewed blind."""
    review = reviewing(tmp_path, *DOCUMENTS)
    review.blind_share = 1.0
    with TestClient(application([review.model], pages=ReviewPages(review)), raise_server_exceptions=False) as client:
        client.app.state.review = review  # type: ignore[attr-defined]
        yield enter(client)


def test_suggestions_of_a_blind_document_are_hidden_until_labels_are_given(blind: TestClient) -> None:
    review: Review = blind.app.state.review  # type: ignore[attr-defined]
    address = "/review/documents/1"
    html = blind.get(address).text
    assert "Give your own labels first" in html
    assert [
        tag for tag, given in Page(html).elements if tag == "mark" or "row" in (given.get("class") or "").split()
    ] == []
    assert "its name in the text" not in html
    assert "Orchards" in blind.get(f"{address}?q=orch").text  # labels are found by search
    assert review.decisions.shown("d1") == {}
    assert decide(blind, 1, action="accept", label="http://x.org/tax") == 303
    html = blind.get(address).text
    assert "added by you" in html
    assert "its name in the text" not in html
    assert decide(blind, 1, action="blind") == 303
    html = blind.get(address).text
    assert "Give your own labels first" not in html
    assert "its name in the text" in html
    assert decide(blind, 1, action="done") == 303
    assert review.decisions.blind() == {"d1": ["http://x.org/tax"]}
    assert "20 are enough to say whether training helped" in blind.get("/review/overview").text
    decide(blind, 1, action="undo")
    assert "its name in the text" in blind.get(address).text  # what was seen is not hidden again


def test_a_document_whose_suggestions_were_seen_is_not_reviewed_blind_later(client: TestClient, review: Review) -> None:
    enter(client).get("/review/documents/1")
    review.blind_share = 1.0
    for name in ("Ann", "Ben"):
        assert "its name in the text" in enter(client, name).get("/review/documents/1").text
    assert "Give your own labels first" in client.get("/review/documents/2").text


ASSIGNED = marc_record([
    ("001", "n1"), ("245", ("00", "aHoney bees in orchards")),
    ("650", (" 7", "aBees", "0http://x.org/bee", "2local")), ("650", (" 0", "aInsects")), ("650", (" 4", "aTax law")),
])  # fmt: skip


def reviewing_records(tmp_path: Path, blind_share: float = 0.0) -> tuple[Review, TestClient]:
    """A review of two records that have subjects, by Ann."""
    review = Review(ServedModel("bees", word_tagger(), "Bees"), ReviewFile(tmp_path / "reviews.sqlite"))
    review.blind_share = blind_share
    client = TestClient(application([review.model], pages=ReviewPages(review)))
    enter(client)
    files = {"files": ("in.mrc", utf8(ASSIGNED), "application/marc")}
    assert "Documents added: 1" in client.post("/review/upload", data={"csrf": csrf(client)}, files=files).text
    return review, client


def test_subjects_of_a_record_are_shown_and_no_suggestion_comes_again_without_a_word(tmp_path: Path) -> None:
    _, client = reviewing_records(tmp_path)
    with client:
        html = client.get("/review/documents/1").text
    page = " ".join("".join(Page(html).texts).split())
    assert "Already assigned, and kept unless you reject them: Bees (local); Tax law" in page
    assert "Assigned from other vocabularies: Insects (lcsh)" in page
    rows = re.findall(r'<h2 id="name-\d+">(.*?)</h2>', html)
    already = ' <span class="notation">already assigned</span>'
    assert sorted(rows) == [f"Bees{already}", "Orchards"]


def test_what_a_record_has_is_kept_by_who_finishes_it_and_what_was_rejected_is_not(tmp_path: Path) -> None:
    review, client = reviewing_records(tmp_path)
    with client:
        client.get("/review/documents/1")
        decide(client, 1, action="reject", label="o")
        decide(client, 1, action="done")
        assert review.decisions.labels() == {"n1": ["http://x.org/bee", "http://x.org/tax"]}
        bee = next(event for event in review.decisions.current() if event.label == "http://x.org/bee")
        assert (bee.action, bee.rank) == ("accept", review.decisions.shown("n1")["Ann", "http://x.org/bee"].rank)
        assert review.training_data().judged == [{"http://x.org/bee", "o"}]
        decide(client, 1, action="reject", label="http://x.org/bee")
        decide(client, 1, action="done")
        assert review.decisions.labels() == {"n1": ["http://x.org/tax"]}


def test_what_a_record_has_is_among_the_labels_that_are_given_blind(tmp_path: Path) -> None:
    review, client = reviewing_records(tmp_path, blind_share=1.0)
    with client:
        assert "Bees (local)" in client.get("/review/documents/1").text
        decide(client, 1, action="blind")
        client.get("/review/documents/1")
        decide(client, 1, action="done")
    assert review.decisions.blind() == {"n1": ["http://x.org/bee", "http://x.org/tax"]}


def test_exports_are_sent_as_files(client: TestClient) -> None:
    enter(client).get("/review/documents/1")
    assert "/review/export" not in client.get("/review/overview").text  # nothing is reviewed
    decide(client, 1, action="accept", label="http://x.org/bee")
    page = client.get("/review/overview").text
    for wanted, (_, name, _) in DOWNLOADS.items():
        assert f"/review/export?format={wanted}" in page
        answer = client.get(f"/review/export?format={wanted}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert bool(answer.content) == (wanted != "blind")
    assert client.get("/review/export?format=csv").text.splitlines()[0] == "id,title,text,labels,label_names,reviewed"
    assert client.get("/review/export?format=zip").status_code == 404


def test_names_are_in_the_language_of_the_page_and_a_hit_says_which_name_matched(tmp_path: Path) -> None:
    labels = [
        Label("animals", ("Animals",), languages=(("en", "Animals"), ("de", "Tiere"))),
        Label("b", ("Birds",), broader=("animals",), languages=(("en", "Birds"), ("de", "Vögel"))),
        Label("o", ("Orchards",)),
    ]
    review = Review(ServedModel("m", word_tagger().with_labels(labels), "M"), ReviewFile(tmp_path / "r.sqlite"))
    review.documents.add([Document("d", "Birds in orchards")])
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        english = enter(client).get("/review/documents/1?lang=en").text
        found = {query: client.get(f"/review/documents/1/labels?q={query}").text for query in ("Vög", "Bird")}
        assert ">Birds</h2>" in english
        assert "Add Birds" in found["Vög"]
        assert "<summary>also called “Vögel”</summary>" in found["Vög"]
        assert "also called" not in found["Bird"]
        german = client.get("/review/documents/1?lang=de").text
        assert ">Vögel</h2>" in german
        assert ">Orchards</h2>" in german
        assert "<p>Tiere</p>" in german
        assert "auch „Birds“ genannt" in client.get("/review/documents/1/labels?q=Bird").text
        for name, action in (("Ann", "accept"), ("Ben", "reject")):
            decide(enter(client, name), 1, action=action, label="b")
        assert "Vögel" in client.get("/review/differences?lang=de").text


def test_a_code_that_is_missing_is_asked_for_at_the_form_in_the_words_of_the_page(client: TestClient) -> None:
    enter(client)
    decide(client, 1, action="accept", label="o")
    form = {"csrf": csrf(client), "source": "", "agency": ""}
    records = {"records": ("in.mrc", utf8(marc_record([("001", "m1"), ("245", ("00", "aHoney bees"))])))}
    missing = client.post("/review/enrich", data=form, files=records).text
    places = [missing.index(text) for text in ("Export</h2>", "Give the code of the vocabulary", 'id="records"')]
    assert places == sorted(places)
    invalid = client.post("/review/enrich", data={**form, "source": "my zoo"}, files=records).text
    assert "Code of the vocabulary is &#39;my zoo&#39;, expected MARC" in invalid


def test_a_training_that_ends_while_its_page_is_made_is_shown_as_under_way(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the page would ask no more, and never show the outcome."""
    ended = threading.Event()
    monkeypatch.setattr(Refitter, "is_running", property(lambda _: not ended.is_set()))
    monkeypatch.setattr(Refitter, "last", property(lambda _: ended.set()))  # there is no version yet
    refitter = Refitter(review, lambda tagger, *_: tagger, review.file.path.parent / "versions")
    pages = ReviewPages(review, OPEN, refitter, Follower([review.model]))
    with TestClient(application([review.model], pages=pages)) as client:
        enter(client)
        assert "data-running" in client.get("/review/refit").text
        assert "data-running" not in client.get("/review/refit").text


def test_the_overview_says_that_a_training_is_under_way_and_has_finished(review: Review) -> None:
    measured = {"nDCG@5": {"before": 0.25, "after": 0.5}, "gain": {"low": 0.1, "high": 0.2}, REVIEWS: 1}
    go = threading.Event()

    def refit(tagger: Tagger, *_: object) -> Tagger:
        go.wait(600)
        return replace(tagger, training={"combined": measured})

    def trained(client: TestClient) -> str:
        while "data-running" in (content := client.get("/review/refit").text):
            time.sleep(0.01)
        return content

    refitter, follower = Refitter(review, refit, review.file.path.parent / "versions"), Follower([review.model])
    with TestClient(application([review.model], pages=ReviewPages(review, OPEN, refitter, follower))) as client:
        form = {"csrf": csrf(enter(client))}
        overview = client.post("/review/refit", data=form).text
        assert 'data-running="/review/refit"' in overview
        assert re.search(r'Training… <a class="no-script" href="/review/overview">', overview)
        assert "data-running" in client.get("/review/refit").text
        go.set()
        first = trained(client)
        assert "Too few decisions" in first
        start, second = model_names(refitter.folder)
        assert f"In use: bees, version {start}." in first
        assert "Training…" not in client.get("/review/overview").text
        client.post("/review/follow", data={**form, "version": second})
        client.post("/review/refit", data=form)
        content = trained(client)
        assert f"Nothing is new: version {second} has learned from the same decisions." in content
        assert f"In use: bees, version {second}." in content
        assert re.findall(r'value="([\d-]+)">(.*?)<', content) == [(start, f"Go back to version {start}")]
        decide(client, 1, action="accept", label="http://x.org/bee")
        decide(client, 1, action="done")
        client.post("/review/refit", data=form)
        content = trained(client)  # the version in use is neither the newest nor the first one
        newest = model_names(refitter.folder)[-1]
        assert f"In use: bees, version {second}." in content
        assert re.findall(r'value="([\d-]+)">(.*?)<', content) == [
            (newest, f"Use version {newest}"), (start, f"Go back to version {start}"),
        ]  # fmt: skip


def test_marc_records_come_back_with_the_accepted_subjects(client: TestClient, review: Review) -> None:
    records = utf8(marc_record([("001", "m1"), ("245", ("00", "aHoney bees"))]))
    review.documents.add([Document("m1", "Honey bees")])
    enter(client).get("/review/documents/4")
    decide(client, 4, action="accept", label="http://x.org/bee")
    form = {"csrf": csrf(client), "source": "zoo", "agency": "DE-101"}
    answer = client.post("/review/enrich", data=form, files={"records": ("in.mrc", records)})
    assert answer.headers["content-disposition"] == 'attachment; filename="enriched.mrc"'
    (record,) = pymarc.MARCReader(answer.content)
    assert record is not None
    (subject,), (origin,) = record.get_fields("650"), record.get_fields("883")
    assert (subject["a"], subject["0"], subject["2"]) == ("Bees", "http://x.org/bee", "zoo")
    assert (origin.indicator1, origin["q"]) == ("1", "DE-101")
    wrong = client.post("/review/enrich", data=form, files={"records": ("in.txt", b"Bees")})
    assert "is of the format text, expected MARC records" in wrong.text
    assert "in.txt: is of the format" in wrong.text
    assert "/tmp" not in wrong.text


@pytest.fixture
def new_edition(review: Review) -> Review:
    """Ann accepted Apis, Insects, Rain and Fish, and Ben rejected Fish: all are gone, and two have successors."""
    labels = [Label("bee", ("Bees",), replaces=("apis",)), Label("wasp", ("Wasps",), replaces=("insect",)),
              Label("beetle", ("Beetles",), replaces=("insect",)), Label("o", ("Orchards",))]  # fmt: skip
    review.model.swap(review.model.tagger.with_labels(labels), datetime.now(UTC))
    review.documents.add([Document("m1", "Honey bees")])
    event: dict[str, Any] = {"document": "m1", "reviewer": "Ann", "action": "accept"}
    review.decisions.add_all([Decision(label=label, **event) for label in ("apis", "insect", "rain", "o", "fish")])
    review.decisions.add_all([Decision(document="m1", reviewer="Ben", action="reject", label="fish")])
    return review


def test_labels_that_a_new_edition_has_replaced_are_offered_on_their_document_and_listed_on_the_overview(
    client: TestClient, new_edition: Review
) -> None:
    enter(client)
    html = client.get("/review/documents/4").text
    assert "Accepted, and gone from the vocabulary" in html
    offered = re.findall(r'class="(?:yes|no)" name="action" value="\w+" data-said="[^"]*">([^<]*)<', html)
    assert offered == [
        "Reject apis", "Accept Bees", "Reject insect", "Accept Wasps", "Accept Beetles", "Reject rain"
    ]  # fmt: skip
    overview = unescape(re.sub(r"<(?!/?li)[^>]+>", "", client.get("/review/overview").text))
    assert "Gone from the vocabulary" in overview
    assert "Honey bees: apis replaced by Bees; insect replaced by Wasps, Beetles; rain" in overview
    assert "fish" in client.get("/review/differences").text
    assert decide(client, 4, action="accept", label="bee") == 303
    assert decide(client, 4, action="accept", label="wasp") == 303
    assert decide(client, 4, action="reject", label="rain") == 303
    assert decide(client, 4, action="accept", label="unheard of") == 404
    assert "Gone from the vocabulary" not in client.get("/review/overview").text
    assert "gone from the vocabulary" not in client.get("/review/documents/4").text


def test_records_are_written_without_a_gone_label_only_if_one_says_so(client: TestClient, new_edition: Review) -> None:
    def sent(title: str, **more: str) -> Any:
        records = utf8(marc_record([("001", "m1"), ("245", ("00", title))]))
        form = {"csrf": csrf(client), "source": "zoo", **more}
        return client.post("/review/enrich", data=form, files={"records": ("in.mrc", records)})

    def subjects(answer: Any) -> list[str]:
        (record,) = pymarc.MARCReader(answer.content)
        return [field["a"] for field in record.get_fields("650")] if record else []

    enter(client)
    page = sent("aHoney bees").text
    assert "Nothing was written yet." in page
    assert "apis</code> replaced by bee" in page
    assert subjects(sent("aHoney bees", anyway="yes")) == ["Orchards"]
    assert "apis</code> replaced by bee" not in (page := sent("aHoney bees", replace_gone="yes").text).split("MARC")[1]
    assert "Nothing was written yet." in page
    assert subjects(sent("aHoney bees", replace_gone="yes", anyway="yes")) == ["Orchards", "Bees"]
    assert "if they hold, say so by “The decisions hold where the text" in unescape(sent("aHoney, bees").text)
    assert subjects(sent("aHoney, bees", changed_texts="yes", anyway="yes")) == ["Orchards"]
