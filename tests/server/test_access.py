"""Who may do what: every route with every role."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import BEES, addresses, learn_nothing, reviewing, word_tagger

from tagwright.errors import InputError
from tagwright.server.access import ROLES, Access, Holder, Role
from tagwright.server.application import application
from tagwright.server.follower import Follower
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.refit import Refitter
from tagwright.server.served_model import ServedModel

TOKENS = {role: f"the token of whoever may {role}" for role in ROLES}

BY_TOKEN: dict[tuple[str, str], Role | None] = {
    ("GET", "/v1/ui"): None,
    ("GET", "/v1/ui/"): None,
    ("GET", "/health"): None,
    ("GET", "/ready"): None,
    ("GET", "/v1"): "suggest",
    ("GET", "/v1/"): "suggest",
    ("GET", "/v1/projects"): "suggest",
    ("GET", "/v1/vocabs"): "suggest",
    ("GET", "/v1/projects/{project_id}"): "suggest",
    ("POST", "/v1/projects/{project_id}/suggest"): "suggest",
    ("POST", "/v1/projects/{project_id}/suggest-batch"): "suggest",
    ("POST", "/v1/projects/{project_id}/learn"): "admin",
    ("POST", "/v1/detect-language"): "suggest",
    ("GET", "/api/models"): "suggest",
    ("POST", "/api/suggest"): "suggest",
    ("POST", "/api/files"): "suggest",
    ("GET", "/api/labels"): "suggest",
    ("GET", "/api/openapi.json"): "suggest",
    ("GET", "/metrics"): "suggest",
    ("GET", "/reconcile"): "suggest",
    ("POST", "/reconcile"): "suggest",
    ("GET", "/reconcile/{model}"): "suggest",
    ("POST", "/reconcile/{model}"): "suggest",
    ("GET", "/reconcile/{model}/suggest/entity"): "suggest",
    ("GET", "/reconcile/{model}/suggest/type"): "suggest",
    ("GET", "/reconcile/{model}/suggest/property"): "suggest",
    ("GET", "/reconcile/{model}/flyout"): "suggest",
    ("GET", "/reconcile/{model}/preview"): "suggest",
}
"Least role of a token in the header, by route; none for what is open."

BY_SESSION: dict[tuple[str, str], Role] = {
    ("GET", "/"): "suggest",
    ("POST", "/"): "suggest",
    ("GET", "/api"): "suggest",
    ("GET", "/review/"): "review",
    ("GET", "/review"): "review",
    ("GET", "/review/overview"): "review",
    ("GET", "/review/differences"): "review",
    ("POST", "/review/upload"): "review",
    ("GET", "/review/export"): "review",
    ("POST", "/review/enrich"): "review",
    ("GET", "/review/refit"): "admin",
    ("POST", "/review/refit"): "admin",
    ("POST", "/review/follow"): "admin",
    ("GET", "/review/documents/{number}"): "review",
    ("POST", "/review/documents/{number}"): "review",
    ("GET", "/review/documents/{number}/labels"): "review",
}
"Least role of the token with which a session was opened."

OPEN_TO_ALL = {(method, path) for method in ("GET", "POST") for path in ("/enter", "/review/enter")}


@pytest.fixture(autouse=True)
def _nobody_is_logged_in(client: TestClient) -> None:
    client.cookies.clear()


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path) -> Path:
    """A file with a token of each role."""
    file = folder / "tokens"
    lines = "".join(f"{token.replace(' ', '-')}  {role} {role.title()} Person\n" for role, token in TOKENS.items())
    file.write_text(f"# who may do what\n\n{lines}")
    return file


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("review")
    review, access = reviewing(folder, BEES), Access.of(file=written(folder))
    pages = ReviewPages(review, access, Refitter(review, lambda tagger, *_: tagger, folder / "versions"), Follower([]))
    with TestClient(application([review.model], access=access, learn=learn_nothing, pages=pages)) as client:
        yield client


def token(role: Role) -> str:
    return TOKENS[role].replace(" ", "-")


def address(path: str) -> str:
    return path.replace("{number}", "1").replace("{project_id}", "bees").replace("{model}", "bees")


def test_the_tables_name_every_route(client: TestClient) -> None:
    app: Any = client.app
    assert {each for each in addresses(app) if each[0] != "HEAD"} == {*BY_TOKEN, *BY_SESSION, *OPEN_TO_ALL}


@pytest.mark.parametrize("given", [None, *ROLES])
@pytest.mark.parametrize(("method", "path"), BY_TOKEN)
def test_each_role_may_ask_for_its_addresses(client: TestClient, method: str, path: str, given: Role | None) -> None:
    headers = {"Authorization": f"Bearer {token(given)}"} if given else {}
    status = client.request(method, address(path), headers=headers, follow_redirects=False).status_code
    needed = BY_TOKEN[method, path]
    if needed and not given:
        assert status == 401
    elif needed and given and ROLES.index(given) < ROLES.index(needed):
        assert status == 403
    else:
        assert status not in (401, 403)  # an empty body is refused for other reasons


@pytest.mark.parametrize("given", [None, *ROLES])
@pytest.mark.parametrize(("method", "path"), BY_SESSION)
def test_each_role_may_open_its_pages(client: TestClient, method: str, path: str, given: Role | None) -> None:
    if given:
        entered = client.post("/review/enter", data={"token": token(given)}, follow_redirects=False)
        assert entered.status_code == (403 if given == "suggest" else 303)
    page = client.get("/review/overview").text
    csrf = re.search(r'name="csrf" value="(\w+)"', page)
    form = {"csrf": csrf[1] if csrf else "", "action": "note"}
    answer = client.request(method, address(path), data=form if method == "POST" else None, follow_redirects=False)
    if given is None or given == "suggest":
        assert answer.headers["location"] == ("/review/enter" if path.startswith("/review") else "/enter")
    elif ROLES.index(given) < ROLES.index(BY_SESSION[method, path]):
        assert answer.status_code == 403
    else:
        refused = method == "POST" and path in ("/", "/review/enrich", "/review/follow")  # no text, file or version
        assert answer.status_code in ((400,) if refused else (200, 303))
        assert answer.headers.get("location") != "/review/enter"
    assert ("Train the tagger" in page) == (given == "admin")


def test_whoever_has_a_token_with_a_name_reviews_under_it(client: TestClient) -> None:
    assert 'id="name"' not in client.get("/review/enter").text
    client.post("/review/enter", data={"token": token("review"), "name": "Somebody Else"})
    page = client.get("/review/overview").text
    assert "Review Person" in page
    assert "Somebody Else" not in page


def test_a_token_without_a_name_does_not_lend_that_of_another(tokens: Path, tmp_path: Path) -> None:
    review = reviewing(tmp_path)
    access = Access.of("one more token, unnamed", tokens)
    with TestClient(application([review.model], access=access, pages=ReviewPages(review, access))) as client:
        assert "if the token has none" in client.get("/review/enter").text
        form = {"token": "one more token, unnamed"}
        assert "belongs to another token" in client.post("/review/enter", data={**form, "name": "review person"}).text
        assert client.post("/review/enter", data=form).status_code == 403
        assert "Ann" in client.post("/review/enter", data={**form, "name": "Ann"}).text


LOOK_ALIKES = [
    "Review Perso\u200bn", "REVIEW\u00a0 PERSON", "\uff32\uff45\uff56\uff49\uff45\uff57 Person", "Review\u3000Person",
    "Review Person\ufe0f", "\u2800Review Per\u00adson", "Re\u2060view Person\u034f", "Review Person\U000e0041",
]  # fmt: skip
"How Review Person can be written so that people see the same name."


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_name_that_looks_like_that_of_another_token_is_refused(tokens: Path, tmp_path: Path, name: str) -> None:
    review = reviewing(tmp_path)
    access = Access.of("one more token, unnamed", tokens)
    with TestClient(application([review.model], access=access, pages=ReviewPages(review, access))) as client:
        answer = client.post("/review/enter", data={"token": "one more token, unnamed", "name": name})
        assert (answer.status_code, "belongs to another token" in answer.text) == (403, True)
        assert access.session(access.issue(name, access.holders[-1])) is None
    tokens.write_text(f"{'a' * 16} review Review Person\n{'b' * 16} review {name}\n", encoding="utf-8")
    with pytest.raises(InputError, match="is also in a line above"):
        Access.of(file=tokens)


@pytest.mark.parametrize("name", ["\u200b", "\u2800 \u3164", "\ufe0f"])
def test_a_name_that_cannot_be_seen_is_none(tmp_path: Path, name: str) -> None:
    review = reviewing(tmp_path)
    with TestClient(application([review.model], pages=ReviewPages(review))) as client:
        assert "A name is needed" in client.post("/review/enter", data={"name": name}).text


ANN, BEN = Holder("Ann", "review", "a" * 16), Holder("Ben", "review", "b" * 16)
SECRET = b"what the server alone knows"


def test_a_session_ends_with_its_token_and_follows_its_role() -> None:
    cookie = Access((ANN, BEN), SECRET).issue("Ann", ANN)
    for holders, role in (([BEN, ANN], "review"), ([BEN], None), ([Holder("Ann", "admin", ANN.token)], "admin")):
        session = Access(tuple(holders), SECRET).session(cookie)
        assert (session.holder.role if session else None) == role


def test_a_cookie_signed_with_the_token_alone_is_no_session(client: TestClient) -> None:
    holder = Holder("", "review", token("review"))
    client.cookies.set("tagwright_session", Access((holder,), b"").issue("Admin Person", holder))
    assert str(client.get("/review/overview").url).endswith("/review/enter")


def test_a_token_with_a_name_reviews_under_no_other_whatever_the_cookie_says() -> None:
    access = Access((ANN, BEN), SECRET)
    session = access.session(access.issue("Ben", ANN))
    assert session
    assert session.reviewer == "Ann"


def test_a_name_that_has_got_a_token_of_its_own_is_no_longer_that_of_a_token_without_a_name() -> None:
    anybody = Holder("", "admin", "c" * 16)
    cookie = Access((anybody,), SECRET).issue("ann", anybody)
    assert Access((anybody, BEN), SECRET).session(cookie)
    assert Access((anybody, ANN), SECRET).session(cookie) is None


@pytest.mark.parametrize("charset", ["unicode_escape", "punycode", "utf-7", "idna", "UTF-8", ""])
def test_forms_are_in_utf_8(client: TestClient, charset: str) -> None:
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    part = b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\nBees \\ud800+2AA-\xff\r\n'
    fields = b"".join(part % name for name in (b"token", b"name", b"text", b"file"))
    headers = {"Content-Type": kind, "Authorization": f"Bearer {token('suggest')}"}
    found = [
        client.post(path, content=fields + b"--x--\r\n", headers=headers).status_code
        for path in ("/review/enter", "/v1/projects/bees/suggest", "/api/files")
    ]
    assert found == ([403, 200, 400] if charset in ("UTF-8", "") else [415, 415, 415])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no tokens"),
        ("x" * 15 + " admin Ann\n", "tokens:1: the token has fewer than 16"),
        ("é" * 16 + " admin Ann\n", "tokens:1: the token has characters beyond ASCII"),
        ("#\n" + "x" * 16 + " Ann admin\n", "tokens:2: expected TOKEN ROLE NAME"),
        ("x" * 16 + " admin\n", "expected TOKEN ROLE NAME"),
        ("x" * 16 + " admin " + "A" * 61, "at most 60 characters"),
        ("x" * 16 + " admin Ann\n" + "y" * 16 + " admin Ann\n", "tokens:2: the name or the token is also"),
        ("x" * 16 + " admin Ann\n" + "x" * 16 + " admin Ben\n", "tokens:2: the name or the token is also"),
    ],
)
def test_a_file_of_tokens_that_makes_no_sense_is_refused_without_showing_it(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(InputError, match=said) as error:
        Access.of(file=tmp_path / "tokens")
    assert "xxx" not in str(error.value)
    assert "xxx" not in repr(Holder("Ann", "admin", "x" * 16))
    with pytest.raises(InputError, match="cannot be read"):
        Access.of(file=tmp_path / "none")


LEARN = "/v1/projects/bees-en/learn"


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.org",
        "null",
        "http://testserver.evil.org",
        "http://testserver:81",
        "http://[",
        "testserver",
        "http:",
    ],
)
def test_without_tokens_pages_of_other_sites_teach_nothing(
    learnt: list[tuple[str, Sequence[Mapping[str, Any]]]], origin: str
) -> None:
    models = [ServedModel("bees-en", word_tagger(), "Bees")]

    async def learn(model: ServedModel, documents: Sequence[Mapping[str, Any]], _: str) -> None:
        learnt.append((model.id, documents))

    with TestClient(application(models, learn=learn)) as opened:
        assert opened.post(LEARN, json=[], headers={"Origin": origin}).status_code == 403
        assert opened.post(LEARN, json=[], headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert learnt == []
        assert opened.post(LEARN, json=[]).status_code == 204
        assert opened.post(LEARN, json=[], headers={"Origin": "http://testserver"}).status_code == 204
    access = Access.of("a long enough token")
    headers = {"Origin": origin, "Authorization": "Bearer a long enough token"}
    with TestClient(application(models, learn=learn, access=access)) as closed:
        assert closed.post(LEARN, json=[], headers=headers).status_code == 204
