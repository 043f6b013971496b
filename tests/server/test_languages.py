"""The pages in the language that a reader or a browser wants, and what the catalogues must hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from starlette.testclient import TestClient
from tests.server.conftest import reviewing
from tests.server.messages import TRANSLATED, kept, wanted

from tagwright.errors import InputError
from tagwright.readers.documents.files import open_sources
from tagwright.server.application import application
from tagwright.server.current_request import CurrentRequest, begin, get_current_request
from tagwright.server.languages import Text, number, percent, translate, translated_error, translations
from tagwright.server.review.page import ReviewPages
from tagwright.types import Document


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    review = reviewing(tmp_path_factory.mktemp("review"), Document("d1", "", "Honey bees"))
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        yield client


@pytest.fixture
def client(shared: TestClient) -> TestClient:
    """A browser that has not been here."""
    shared.cookies.clear()
    shared.headers.pop("Accept-Language", None)
    return shared


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_language_lacks_a_message_or_has_an_unknown_one(language: str) -> None:
    catalog = kept(language)
    assert {each.id for each in catalog} == {each.id for each in wanted()}
    for message in catalog:
        assert all(_forms(message)), message.id
        assert not message.fuzzy, message.id


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_have_the_placeholders_of_their_messages(language: str) -> None:
    for message in kept(language):
        if message.id:
            asked = message.id if isinstance(message.id, str) else message.id[0]
            assert all(_placeholders(each) == _placeholders(asked) for each in _forms(message)), message.id


def _forms(message: Message) -> list[str]:
    """The translation, in all of its numbers."""
    forms = message.string
    return [forms or ""] if forms is None or isinstance(forms, str) else list(forms)


def _placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"%(?:\(\w+\))?.", text))


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_compiled_catalogue_is_that_of_the_file(language: str) -> None:
    compiled = translations(language)
    for message in kept(language):
        if isinstance(message.id, str) and message.id:
            assert compiled.gettext(message.id) == message.string
        elif message.id:
            one, many = message.id
            assert tuple(compiled.ngettext(one, many, number) for number in (1, 7)) == message.string


@pytest.mark.parametrize(
    ("header", "language", "said"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de", "Schlagwörter vorschlagen"),
        ("fi", "fi", "Ehdota asiasanoja"),
        ("nl;q=0.9, sv;q=0.8, en;q=0.1", "sv", "Föreslå ämnesord"),
        ("fr-FR", "fr", "Proposer des sujets"),
        ("en-GB, fr;q=0.9", "en", "Suggest labels"),
        ("nl", "en", "Suggest labels"),
        ("de;q=x, *;q=0.5", "en", "Suggest labels"),
    ],
)
def test_the_page_is_in_the_language_that_the_browser_wants(
    client: TestClient, header: str, language: str, said: str
) -> None:
    page = client.get("/", headers={"Accept-Language": header}).text
    assert f'<html lang="{language}">' in page
    assert f"<h1>{said}</h1>" in page


def test_pages_in_english_say_subject_where_the_server_is_told_so(tmp_path: Path) -> None:
    review = reviewing(tmp_path, Document("d1", "", "Honey bees"))
    with TestClient(application([review.model], pages=ReviewPages(review), word="subject")) as client:
        client.post("/review/enter", data={"name": "Ann"})
        document, found = client.get("/review/documents/1").text, client.get("/review/documents/1/labels?q=tax").text
        assert "Suggested subjects" in document
        assert "Add a subject" in document
        assert "3 subjects" in document
        assert "1 subject for “tax”" in found
        assert "Give your own" not in document
        assert "<h1>Suggest subjects</h1>" in client.get("/").text
        for path in ("/", "/review/documents/1", "/review/overview", "/review/differences"):
            shown = re.sub(r"<[^>]*>", "", client.get(path).text).replace("Label Studio", "")
            assert not re.search("label", shown, re.IGNORECASE), path
        assert "Schlagwörter vorschlagen" in client.get("/?lang=de").text
        assert "Suggest labels for a document" in client.get("/api/openapi.json").text  # programs get one wording


def test_the_language_that_a_reader_chooses_stays(client: TestClient) -> None:
    wish = {"Accept-Language": "fr"}
    assert '<html lang="fi">' in client.get("/?lang=fi", headers=wish).text
    assert '<html lang="fi">' in client.get("/review/enter", headers=wish).text
    assert '<html lang="fi">' in client.get("/?lang=../x", headers=wish).text
    assert '<html lang="en">' in client.get("/?lang=en", headers=wish).text
    client.cookies.clear()
    assert '<html lang="fr">' in client.get("/", headers=wish).text


def test_the_review_is_in_the_language_of_the_reader(client: TestClient) -> None:
    client.headers["Accept-Language"] = "de"
    client.post("/review/enter", data={"name": "Ann"})
    page = client.get("/review/documents/1").text
    assert "„bees“ – seine Benennung im Text" in page
    assert 'aria-label="Bees annehmen"' in page
    assert "0 von 1 erledigt" in page
    assert "Noch nicht vergeben." in page
    assert "1 Schlagwort zu „tax“" in client.get("/review/documents/1/labels?q=tax").text
    assert "Erledigte Dokumente" in client.get("/review/overview").text
    assert "Dieses Dokument gibt es nicht" in client.get("/review/documents/9").text
    for language in ("fi", "sv", "fr"):
        client.headers["Accept-Language"] = language
        assert f'<html lang="{language}">' in client.get("/review/documents/1").text


def test_a_language_is_chosen_on_an_address_that_can_be_opened(client: TestClient) -> None:
    client.post("/review/enter", data={"name": "Ann"})
    found = re.search(r'name="csrf" value="(\w+)"', client.get("/review/overview").text)
    assert found
    page = client.post("/review/upload", data={"csrf": found[1]}).text
    assert '"/review/overview?lang=de"' in page


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_description_of_the_interface_is_in_the_language_of_the_reader(client: TestClient, language: str) -> None:
    page = client.get("/api", headers={"Accept-Language": language}).text
    said = translations(language).gettext
    for text in ("Suggest subjects for a text.", "The most labels to suggest.", "Parameters"):
        assert f"{said(text)}<" in page
        assert f"{text}<" not in page


FILES = {
    "empty.jsonl": b"",
    "a.pdf": b"%PDF-1.7 and no more",
    "b.docx": b"PK\x03\x04 and no more",
    "sheet.xlsx": b"PK\x03\x04xl/",
    "c.jsonl": b"{'id': 1}\n",
    "list.jsonl": b"[1]\n",
    "d.csv": b"1,2\n3,4\n",
    "two.csv": b"text,text\nbees,wasps\n",
    "e.xml": b"<?xml version='1.0'?><zoo/>",
    "f.bin": b"\x01\x02\x03\x04",
    "g.xml": b"<!DOCTYPE article [<!ENTITY a 'b'>]><article>&a;</article>",
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_wrong_with_a_file_is_said_in_every_language(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    with pytest.raises(InputError) as raised:
        for _, located in open_sources(tmp_path / name):
            list(located)
    error = InputError(raised.value.problem, name)
    assert translated_error(error) == str(error)
    for language in TRANSLATED:
        with in_language(language):
            assert translated_error(error).startswith(name)
            assert translated_error(error) != str(error)


def test_what_is_wrong_with_an_option_is_said_in_every_language(client: TestClient) -> None:
    form = {"text": "Bees", "limit": "0"}
    page = client.post("/", data=form, headers={"Accept-Language": "de"})
    assert page.status_code == 400
    assert "0 ist kleiner als das Mindeste, 1" in page.text
    other = client.post("/", data={**form, "limit": "1", "model": "x"}, headers={"Accept-Language": "de"})
    assert "Es gibt kein Modell" in other.text


def test_a_text_is_translated_by_its_form_with_numbers_as_the_language_writes_them() -> None:
    form = "The document has %(size)s bytes of text, at most %(most)s are accepted; split it"
    text = Text(form, size="6,000,001", most="5,000,000")
    assert text == "The document has 6,000,001 bytes of text, at most 5,000,000 are accepted; split it"
    assert translate(text) == text
    with in_language("de"):
        assert "6.000.001" in translate(text)
        gain = Text(
            "On %(count)s documents reviewed blind, nDCG@5 is %(after)s, and %(before)s with version %(besides)s: "
            "%(difference)s points, with a 95%% interval from %(low)s to %(high)s.",
            count="25", after="90.0", before="90.0", besides="0001", difference="+0.0", low="-0.1", high="+0.1",
        )  # fmt: skip
        assert all(written in translate(gain) for written in ("+0,0", "-0,1", "+0,1"))
        assert translate(Text("Forbidden")) != "Forbidden"
        assert translate("as it is") == "as it is"
        assert translate("") == ""


@pytest.mark.parametrize(
    ("language", "written", "share"),
    [
        ("en", "1,234.5", "26%"),
        ("de", "1.234,5", "26\xa0%"),
        ("fi", "1\xa0234,5", "26\xa0%"),
        ("sv", "1\xa0234,5", "26\xa0%"),
        ("fr", "1\u202f234,5", "26\xa0%"),
    ],
)
def test_numbers_are_written_as_in_the_language(language: str, written: str, share: str) -> None:
    with in_language(language):
        assert (number("1,234.5"), percent(0.256)) == (written, share)


@contextmanager
def in_language(language: str) -> Iterator[None]:
    """Inside this block, requests are in this language."""
    before = get_current_request()
    begin(CurrentRequest(language=language))
    yield
    begin(before)


def test_what_programs_get_does_not_follow_their_language(client: TestClient) -> None:
    asked = {"text": "Bees and tax law", "evidence": True}
    english, german = (
        client.post("/api/suggest", json=asked, headers={"Accept-Language": each}).json() for each in ("en", "de")
    )
    assert english == german
    assert english["meanings"]["exact_match"] == "its name in the text"
