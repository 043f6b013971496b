"""An entry for each answered document, written before the reply."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.audit_log import entries
from tests.server.conftest import reviewing

from tagwright.errors import ConfigError
from tagwright.review.file import StorageError
from tagwright.server.access import Access
from tagwright.server.application import application
from tagwright.server.audit import Audit
from tagwright.server.review.page import ReviewPages
from tagwright.types import Document

TOKEN = "a" * 16
HEADERS = {"Authorization": f"Bearer {TOKEN}", "X-Request-ID": "r1"}


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[Audit]:
    found = Audit(tmp_path / "audit.jsonl")
    yield found
    found.close()


@pytest.fixture
def client(tmp_path: Path, audit: Audit) -> Iterator[TestClient]:
    (tmp_path / "tokens").write_text(f"{TOKEN} review Catalogue\n")
    access = Access.of(file=tmp_path / "tokens")
    review = reviewing(tmp_path, Document("d1", "Honey bees", sections=()))
    app = application([review.model], access=access, pages=ReviewPages(review, access), audit=audit)
    with TestClient(app) as client:
        yield client


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def test_an_entry_says_who_got_which_labels_for_which_text(client: TestClient, tmp_path: Path) -> None:
    answer = client.post("/api/suggest", json={"title": "Bees", "text": "A tax law."}, headers=HEADERS).json()
    (entry,) = entries(tmp_path / "audit.jsonl")
    assert datetime.fromisoformat(entry.pop("time")).tzinfo
    assert entry == {
        "request": "r1", "who": "Catalogue", "model": "bees", "version": "bees", "sha256": digest("Bees\nA tax law."),
        "suggestions": [{"label": each["id"], "score": each["score"], "confidence": None}
                        for each in answer["suggestions"]],
    }  # fmt: skip
    assert {each["label"] for each in entry["suggestions"]} == {"http://x.org/bee", "http://x.org/tax"}
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600


def test_each_way_to_suggestions_has_its_entries(client: TestClient, tmp_path: Path) -> None:
    seen, project = list[str](), "/v1/projects/bees"

    def added() -> list[str]:
        new = [entry["sha256"] for entry in entries(tmp_path / "audit.jsonl")][len(seen) :]
        seen.extend(new)
        return new

    client.post(f"{project}/suggest", data={"text": "Honey bees"}, headers=HEADERS)
    assert added() == [digest("Honey bees")]
    batch = {"documents": [{"text": "Honey bees"}, {"text": ""}, {"text": "Taxes"}]}
    client.post(f"{project}/suggest-batch", json=batch, headers=HEADERS)
    assert added() == [digest("Honey bees"), digest(""), digest("Taxes")]
    client.post("/api/files", files={"file": ("a.txt", "Bees\n\nThey fly.")}, headers=HEADERS)
    assert len(added()) == 1
    client.post("/review/enter", data={"token": TOKEN}, follow_redirects=False)
    assert added() == []
    for _ in range(2):  # the second time from what is kept
        client.get("/review/documents/1")
        assert added() == [digest("Honey bees")]
    client.post("/", data={"text": "Orchards"})
    assert added() == [digest("Orchards")]
    for refused in ({"text": "x", "model": "none"}, {"txt": "x"}):
        client.post("/api/suggest", json=refused, headers=HEADERS)
    client.get("/api/labels?q=bees", headers=HEADERS)
    assert added() == []
    metrics = client.get("/metrics", headers=HEADERS).text
    assert "\ntagwright_audit_entries_total 8\n" in metrics


def test_what_cannot_be_recorded_is_not_answered(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, audit: Audit
) -> None:
    client.post("/api/suggest", json={"text": "bees"}, headers=HEADERS)
    before = (tmp_path / "audit.jsonl").read_bytes()

    class Full:
        """A file on a disk that takes the first ten bytes."""

        closed = False

        def __init__(self, path: Path) -> None:
            self.file = path.open("ab", buffering=0)
            self.fileno, self.truncate, self.close = self.file.fileno, self.file.truncate, self.file.close

        def write(self, lines: bytes) -> int:
            return self.file.write(lines[:10])

    whole, full = audit._file, Full(tmp_path / "audit.jsonl")
    monkeypatch.setattr(audit, "_file", full)
    refused = client.post("/api/suggest", json={"text": "bees"}, headers=HEADERS)
    assert (refused.status_code, refused.json()["title"]) == (507, "Not stored")
    assert (tmp_path / "audit.jsonl").read_bytes() == before
    full.close()
    monkeypatch.setattr(audit, "_file", whole)
    assert client.post("/api/suggest", json={"text": "bees"}, headers=HEADERS).status_code == 200
    assert len([*entries(tmp_path / "audit.jsonl")]) == 2


def add(audit: Audit, request: str) -> None:
    audit.add({"request": request}, [Document("d", "Bees")], [[]])


def requests(path: Path) -> list[str]:
    return [entry["request"] for entry in entries(path)]


@pytest.mark.parametrize("torn", [b'{"time": "2026', b'{"ti', b"{", b'{"time": "2026", "request": "' + b"x" * 200_000])
def test_a_torn_last_line_is_left_out_and_removed_on_start(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "audit.jsonl"
    first = Audit(path)
    add(first, "r1")
    add(first, "r2")
    first.close()
    with path.open("ab") as file:
        file.write(torn)
    assert requests(path) == ["r1", "r2"]
    second = Audit(path)
    add(second, "r3")
    second.close()
    assert requests(path) == ["r1", "r2", "r3"]
    assert path.read_bytes().count(b"\n") == 3


def test_a_file_that_is_all_one_torn_line_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"time"')
    audit = Audit(path)
    add(audit, "r1")
    audit.close()
    assert requests(path) == ["r1"]


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("Bees\nTax law")
    with pytest.raises(ConfigError, match=r"labels\.txt: is no audit log"):
        Audit(tmp_path / "labels.txt")
    assert (tmp_path / "labels.txt").read_text() == "Bees\nTax law"
    with pytest.raises(ConfigError, match="cannot be written"):
        Audit(tmp_path)


def test_only_one_server_writes(tmp_path: Path, audit: Audit) -> None:
    with pytest.raises(ConfigError, match="another server writes there"):
        Audit(tmp_path / "audit.jsonl")


def test_a_rotated_file_is_made_again(tmp_path: Path, audit: Audit) -> None:
    path = tmp_path / "audit.jsonl"
    add(audit, "r1")
    path.rename(tmp_path / "audit.1")
    add(audit, "r2")
    assert (requests(tmp_path / "audit.1"), requests(path)) == (["r1"], ["r2"])
    path.unlink()
    add(audit, "r3")
    assert requests(path) == ["r3"]
    path.rename(tmp_path / "audit.2")
    path.mkdir()
    for _ in range(2):
        with pytest.raises(StorageError):
            add(audit, "r4")
    path.rmdir()
    add(audit, "r5")
    assert requests(path) == ["r5"]
