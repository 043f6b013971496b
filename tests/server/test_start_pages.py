"""The pages at / and /api: the same suggestions as the interface gives, and what people can do with them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import reviewing, word_tagger

from tagwright.combining.confidence import Curve
from tagwright.combining.label_free import LabelFree
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages
from tagwright.server.served_model import ServedModel
from tagwright.types import Label

TEXT = "Honey bees\nvisit orchards & <b>pay</b> no tax."
TOKEN = "a long enough token"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    bees = Label("http://x.org/1", ("Bees",), notation="595.79", languages=(("en", "Bees"), ("sv", "Bin")))
    tagger = word_tagger().with_labels([bees, Label("=o", ("Orchards",))])
    models = [ServedModel("insects", tagger, "Insects"), ServedModel("law", word_tagger(), "Law")]
    with TestClient(application(models)) as client:
        yield client


def names(page: str) -> list[str]:
    return [html.unescape(each).strip() for each in re.findall(r'<h2 id="name-\d+">([^<]*)', page)]


def copied(page: str, name: str) -> str:
    found = re.search(rf'aria-label="{name}"[^>]*>([^<]*)</textarea>', page)
    assert found
    return html.unescape(found[1])


def test_the_page_names_the_formats_of_one_document(client: TestClient) -> None:
    page = client.get("/").text
    assert all(f" {suffix} " in page for suffix in (".docx", ".tex", ".pdf"))
    assert ".xlsx" not in page


def test_a_text_gets_the_suggestions_that_programs_get(client: TestClient) -> None:
    for form in ({"text": TEXT}, {"text": TEXT, "model": "law"}, {"text": TEXT, "limit": "1"},
                 {"text": TEXT, "language": "sv"}):  # fmt: skip
        asked = {**form, "limit": int(form.get("limit", 10))}
        asked |= {"names_in": asked.pop("language")} if "language" in asked else {}
        answer = client.post("/api/suggest", json=asked).json()["suggestions"]
        page = client.post("/", data={**form, "text": TEXT.replace("\n", "\r\n")}).text  # as browsers send it
        assert names(page) == [each["name"] for each in answer]
        assert copied(page, "URI").splitlines() == [each["id"] for each in answer]
        scores = [line.split("\t")[3] for line in copied(page, "TSV").splitlines()[1:]]
        assert scores == [f"{each['score']:.6g}" for each in answer]


def test_the_text_is_shown_with_the_evidence_of_one_suggestion(client: TestClient) -> None:
    page = client.post("/", data={"text": TEXT}).text
    assert "&lt;b&gt;pay&lt;/b&gt;" in page
    assert '<mark data-ranks="1" class="on">bees</mark>' in page
    assert '<mark data-ranks="2">orchards</mark>' in page
    assert (
        '<mark data-ranks="2" class="on">orchards</mark>' in client.post("/", data={"text": TEXT, "marked": "2"}).text
    )
    assert "“bees” – its name in the text" in page
    assert '<span class="notation">595.79</span>' in page
    assert "reviewed" not in page


def test_words_in_addresses_are_neither_marked_nor_quoted(client: TestClient) -> None:
    addresses = (
        "https://x.org/bees?a=bees",
        "www.bees.org",
        "bees.example.org/a",
        "bees@example.org",
        "10.1000/bees.1",
    )
    page = client.post("/", data={"text": f"See {' and '.join(addresses)}, and a note on orchards."}).text
    assert re.findall("<mark[^>]*>([^<]*)", page) == ["orchards"]
    assert "“bees”" not in page
    for text in ("bees/wasps", "Honey-bees.", "bees: https://x.org", "of bees.Then"):
        assert '<mark data-ranks="1" class="on">bees</mark>' in client.post("/", data={"text": text}).text


def test_the_page_says_where_an_estimate_was_made_without_labelled_documents() -> None:
    """By the model that comes with the package, and by a curve learned from labels."""
    tagger = word_tagger()
    sums = {"untrained": (WeightedSum(), LabelFree()), "taught": (WeightedSum(), Curve())}
    models = [ServedModel(name, replace(tagger, steps=steps), name) for name, steps in sums.items()]
    with TestClient(application(models)) as client:
        pages = {name: client.post("/", data={"text": TEXT, "model": name}).text for name in sums}
        german = client.post("/?lang=de", data={"text": TEXT, "model": "untrained"}).text
    assert all("The percentage is the tagger’s estimate" in page for page in pages.values())
    assert "made without labelled documents, so it is rough" in pages["untrained"]
    assert "made without labelled documents" not in pages["taught"]
    assert "entstand ohne erschlossene Dokumente" in german


def test_unlikely_suggestions_take_a_click_and_are_not_copied_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a curve that has learned nothing have the confidence 0.5."""
    tagger = replace(word_tagger(), steps=(WeightedSum(), Curve()))
    found = {}
    for least in (0.0, 0.5, 0.6):
        monkeypatch.setattr("tagwright.server.start_pages.SHOWN_FROM", least)
        with TestClient(application([ServedModel("m", tagger, "M")])) as client:
            page = client.post("/", data={"text": TEXT}).text
            marked = client.post("/", data={"text": TEXT, "marked": "3"}).text
        assert ('id="less" open' in page, 'id="less" open' in marked) == (False, least > 0.5)  # without scripts
        found[least] = len(names(page.partition('<details class="less"')[0])), copied(page, "URI").count("\n") + 1
        assert len(names(page)) == 3
    assert found == {0.0: (3, 3), 0.5: (3, 3), 0.6: (1, 1)}


def test_suggestions_are_copied_as_names_table_addresses_and_fields_of_marc(client: TestClient) -> None:
    page = client.post("/", data={"text": TEXT, "source": "gnd"}).text
    assert copied(page, "Text") == "Bees (595.79)\nOrchards"
    assert copied(page, "TSV").splitlines()[0] == "id\tnotation\tname\tscore\tconfidence"
    assert "\n'=o\t\tOrchards\t" in copied(page, "TSV")  # no formula in a spreadsheet
    assert copied(page, "URI") == "http://x.org/1\n=o"
    assert copied(page, "MARC") == "=650  \\7$aBees$0http://x.org/1$2gnd\n=650  \\7$aOrchards$0(DE-588)=o$2gnd"
    assert "$2local" in copied(client.post("/", data={"text": TEXT}).text, "MARC")


def test_a_file_gets_the_suggestions_that_programs_get(client: TestClient) -> None:
    content = b'{"id": "1", "title": "On bees"}\n{"id": "2", "title": "On orchards"}\n'
    answer = client.post("/api/files", files={"file": ("two.jsonl", content)}).json()["documents"]
    page = client.post("/", data={"text": "Tax law"}, files={"file": ("two.jsonl", content)}).text
    assert names(page) == [each["name"] for each in answer[0]["suggestions"]] == ["Bees"]
    assert "The file holds 2 documents; this is the first one." in page
    assert "Mark in the text" not in page  # that would send the form again, without the file


@pytest.mark.parametrize(
    ("form", "status", "said"),
    [
        ({"text": " "}, 400, "Paste a text or choose a file."),
        ({"text": TEXT, "limit": "many"}, 400, "not of type"),
        ({"text": TEXT, "limit": "0"}, 400, "minimum of"),
        ({"text": TEXT, "model": "<none>"}, 404, "There is no tagger &#39;&lt;none&gt;&#39;"),
        ({"text": TEXT, "language": "fi"}, 400, "in which no label has a name"),
    ],
)
def test_what_is_wrong_is_said_above_the_form_which_keeps_its_text(
    client: TestClient, form: dict[str, str], status: int, said: str
) -> None:
    answer = client.post("/", data=form)
    assert answer.status_code == status
    assert 'role="alert">' in answer.text
    assert said in answer.text
    assert html.escape(form["text"]) in answer.text
    assert names(answer.text) == []


def test_a_file_that_cannot_be_read_or_is_empty_is_said_to_be(client: TestClient) -> None:
    for file, said in ((("a.pdf", b"%PDF-1.7 broken"), "a.pdf: "), (("a.txt", b" "), "a.txt: holds no text")):
        answer = client.post("/", files={"file": file})
        assert answer.status_code == 422
        assert said in answer.text


def test_languages_are_those_of_the_vocabularies(client: TestClient) -> None:
    page = client.get("/").text
    assert 'value="insects" data-languages="en sv"' in page
    assert 'value="law" data-languages="en"' in page
    assert re.findall(r'<option value="(\w*)">(?:\w\w|preferred names)<', page) == ["", "en", "sv"]


def test_pages_load_nothing_from_elsewhere(client: TestClient) -> None:
    for page in (client.get("/").text, client.post("/", data={"text": TEXT}).text, client.get("/api").text):
        loaded = re.sub(r'<a href="http[^>]*>', "", page)  # the address of a label, which is opened by a click alone
        assert all(each.startswith(("/", "#")) for each in re.findall(r'(?:src|href|action)="([^"]*)"', loaded))
        assert "<style" not in page
        assert not re.search(r"<[^>]* (?:style|on\w+)=", page)
        scripts = re.findall(r"<script[^>]*>", page)
        assert [re.search(r'src="(/static/\w+\.js)" type="module"', each) is not None for each in scripts] == [True]
        for link in re.findall(r'(?:src|href)="(/[^"]*)"', page):
            assert client.get(link).status_code == 200
    client.cookies.clear()  # of the language that a link has chosen


def test_the_api_is_described_for_people(client: TestClient) -> None:
    page = client.get("/api").text
    for path, methods in client.get("/api/openapi.json").json()["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page
            assert f">{method.upper()} {path}</a>" in page  # in the table of contents
    assert "Suggest labels for a document: a text, or title, abstract and sections." in page
    assert "<code>only</code> array: Conditions, such as notation:33*" in page
    assert '<strong>insects</strong>: Insects, 2 labels (<span data-language="en">en</span>)' in page


def test_with_tokens_the_pages_ask_for_one_which_may_be_that_of_any_role(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"{TOKEN.replace(' ', '-')} suggest Catalogue\n")
    access = Access.of(file=tmp_path / "tokens")
    review = reviewing(tmp_path)
    for pages in (None, ReviewPages(review, access)):
        with TestClient(application([review.model], access=access, pages=pages)) as client:
            for path in ("/", "/api"):
                assert client.get(path, follow_redirects=False).headers["location"] == "/enter"
            assert names(client.post("/", data={"text": TEXT}).text) == []
            form = client.get("/").text
            assert 'name="token"' in form
            assert 'name="name"' not in form
            assert client.post("/enter", data={"token": "wrong"}).status_code == 403
            page = client.post("/enter", data={"token": TOKEN.replace(" ", "-")}).text
            assert 'name="text"' in page
            assert "Catalogue" in page
            assert set(names(client.post("/", data={"text": TEXT}).text)) == {"Bees", "Orchards", "Tax law"}
            assert client.get("/api").status_code == 200
            assert client.get("/api/models").status_code == 401  # programs send the token
            if pages:
                assert str(client.get("/review").url).endswith("/review/enter")


def test_a_token_without_a_name_opens_the_page_but_reviews_only_with_a_name(tmp_path: Path) -> None:
    access = Access.of(TOKEN)
    review = reviewing(tmp_path)
    with TestClient(application([review.model], access=access, pages=ReviewPages(review, access))) as client:
        assert 'name="text"' in client.post("/enter", data={"token": TOKEN}).text
        assert str(client.get("/review").url).endswith("/review/enter")
        client.post("/review/enter", data={"token": TOKEN, "name": "Ann"})
        assert str(client.get("/review").url).endswith("/review/overview")
        assert 'name="text"' in client.get("/").text


def test_forms_of_other_sites_are_refused(client: TestClient) -> None:
    answer = client.post("/", data={"text": TEXT}, headers={"Origin": "http://evil.org"})
    assert (answer.status_code, names(answer.text)) == (403, [])
