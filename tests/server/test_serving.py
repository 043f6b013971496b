from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.server.conftest import word_tagger

from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.versions import put_in_use
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.file import ReviewFile
from tagwright.server.access import Access
from tagwright.server.options import ServerOptions
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.server.serving import (
    listen,
    open_review,
    saved_models,
    store_learnt,
    use_trained,
    versions_folder,
)
from tagwright.types import Document, Label

LONGEST = 600.0
"Seconds after which a test fails instead of waiting, on the slowest machine."


def test_other_machines_need_a_token() -> None:
    with pytest.raises(ConfigError, match="can be reached by other machines: give a --token"):
        ServerOptions(host="0.0.0.0")
    assert ServerOptions(host="0.0.0.0", token="a long enough token").host == "0.0.0.0"
    for host in ("127.0.0.1", "localhost", "::1"):
        assert ServerOptions(host=host).access.is_open
    assert "long enough" not in repr(ServerOptions(token="a long enough token"))
    with pytest.raises(ConfigError, match="fewer than 16 characters"):
        Access.of("short")
    with pytest.raises(ConfigError, match="give --reviews"):
        ServerOptions(learn=True)
    with pytest.raises(ConfigError, match="give --reviews"):
        ServerOptions(documents=["x"])


def test_models_are_called_by_their_folder_or_as_told(tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "my tagger")
    folder = str(tmp_path / "my tagger")
    first, second = saved_models([folder, f"bees={folder}"])
    assert (first.id, second.id, first.language) == ("my-tagger", "bees", "en")
    assert first.modified is not None
    with pytest.raises(ConfigError, match='two models are called "bees"'):
        saved_models([f"bees={folder}", f"bees={folder}"])
    with pytest.raises(ConfigError, match="is called 'a b'"):
        saved_models([f"a b={folder}"])


def test_models_suggest_from_another_vocabulary_if_one_is_given(tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "bees")
    (model,) = saved_models([str(tmp_path / "bees")], labels=Vocabulary([Label("w", ("Wasps",))]))
    assert [label.name for label in model.tagger.vocabulary] == ["Wasps"]


def test_the_version_in_use_is_served_again_unless_it_was_trained_from_another_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base, folder = replace(word_tagger(), training={"date": "2026-01-01"}), tmp_path / "versions"
    trained = replace(base, steps=(WeightedSum(weights={"tfidf": 3.0}),), training={"before": base.training})
    use_trained(model := ServedModel("bees", base, "Bees"), folder)  # nothing is there yet
    assert model.tagger is base
    base.save(folder / "1")
    trained.save(folder / "2")
    put_in_use(folder / "2")
    use_trained(model, folder)
    assert (model.version, model.tagger.steps, model.history) == ("bees 2", trained.steps, folder)
    put_in_use(folder / "1")
    use_trained(again := ServedModel("bees", base, "Bees"), folder)
    assert (again.version, again.tagger.training) == ("bees 1", base.training)
    newer = ServedModel("bees", replace(base.restrict(["o"]), training={"date": "2026-02-02"}), "Bees")
    use_trained(newer, folder)
    assert "versions/1: was trained from another model, and is not used" in caplog.text
    assert newer.tagger.training == {"date": "2026-02-02"}


def test_where_the_versions_that_are_trained_are_kept(tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "bees")
    bees, versions, labels = str(tmp_path / "bees"), tmp_path / "versions", tmp_path / "labels.txt"
    word_tagger().save(versions / "1")
    put_in_use(versions / "1")
    reviews, beside = tmp_path / "r.sqlite", tmp_path / "r-versions"
    assert versions_folder([f"b={bees}"], reviews, None) == beside
    assert versions_folder([f"b={versions}"], reviews, None) == versions
    assert versions_folder([f"b={versions}"], reviews, labels) == beside  # the versions would lose their labels
    assert versions_folder([], reviews, labels) == beside
    assert versions_folder([], None, labels) is None


@contextmanager
def serving(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of its own, over two labels, and its address."""
    (folder / "labels.txt").write_text("Bees\nTax law\n")
    words = ["--set", "stages=['exact_match']", "--set", "weights=[1.0]", "--language", "en"]
    command = [sys.executable, "-m", "tagwright", "serve", "--labels", "labels.txt", "--port", "0", "--quiet", *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen([*command, *more], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = re.search(r"http://[^/]+", process.stdout.readline())
        assert address
        yield process, address[0]
    finally:
        process.kill()
        process.communicate()


def is_running(process: str) -> bool:
    """Whether a process has not ended. One that has and that nobody has asked about has no command line any more."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


def test_other_processes_end_with_the_server(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "1") as (process, address):
        request = urllib.request.Request(f"{address}/v1/projects/zero_shot/suggest", b"text=Honey+bees")
        with urllib.request.urlopen(request, timeout=LONGEST) as answer:
            assert [each["label"] for each in json.load(answer)["results"]] == ["Bees"]
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        numbers = children.read_text().split() if children.exists() else []
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST) in (0, -signal.SIGTERM)
        deadline = time.monotonic() + LONGEST
        while any(map(is_running, numbers)):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_documents_that_clients_send_keep_their_texts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = ReviewFile(tmp_path / "reviews.sqlite")
    model = ServedModel("bees", word_tagger(), "Bees")
    bee, tax = {"uri": "http://x.org/bee"}, {"uri": "http://x.org/tax"}
    store_learnt(file, model, [
        {"text": "Honey bees", "document_id": "d1", "metadata": {"author": " A. Low\n", "note": ""},
         "subjects": [bee, bee, {"uri": "http://x.org/unknown"}]},
        {"text": "Taxes", "subjects": [tax]},
        {"text": "Taxes", "subjects": [bee]},
    ], "Koha")  # fmt: skip
    unknown = "1 of 5 subjects are not in the vocabulary and are left out"
    assert caplog.messages == [unknown]
    assert {event.reviewer for event in Decisions(file).current()} == {"Koha"}
    documents, labels, judged, _ = Review(model, file).training_data()
    assert [document.text for document in documents] == ["Honey bees", "Taxes"]
    assert [dict(document.metadata) for document in documents] == [{"author": ("A. Low",)}, {}]
    assert labels == [["http://x.org/bee"], ["http://x.org/tax", "http://x.org/bee"]]
    assert judged == [set(), set()]  # a client knows all labels of its documents


def test_an_id_that_is_known_with_another_text_brings_its_labels_to_no_other_text(tmp_path: Path) -> None:
    file = ReviewFile(tmp_path / "reviews.sqlite")
    ReviewedDocuments(file).add([Document("1", "Apple orchards")])  # given to the server when it started
    model = ServedModel("bees", word_tagger(), "Bees")
    bee, tax, orchard = "http://x.org/bee", "http://x.org/tax", "o"
    for batch in (
        [("1", "Honey bees", bee), ("2", "Taxes", tax), ("2", "Hives", bee)],  # numbered from 1 in each batch
        [("1", "Income", tax), ("2", " Taxes\n", tax)],
        [("1", "Apple orchards", orchard), ("1", "Honey bees", orchard)],  # other labels for texts that are known
    ):
        sent = [{"text": text, "document_id": id_, "subjects": [{"uri": uri}]} for id_, text, uri in batch]
        store_learnt(file, model, sent, "Koha")
    documents, labels, *_ = Review(model, file).training_data()
    assert {each.text: found for each, found in zip(documents, labels, strict=True)} == {
        "Apple orchards": [orchard], "Honey bees": [bee, orchard], "Taxes": [tax], "Hives": [bee], "Income": [tax],
    }  # fmt: skip
    assert len(documents) == 5
    assert [each.id for each in documents if each.text in ("Apple orchards", "Taxes")] == ["1", "2"]


def test_documents_that_changed_are_reviewed_beside_those_that_they_were(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = ServerOptions(reviews=tmp_path / "r.sqlite", documents=[str(tmp_path / "a.jsonl")])
    model = ServedModel("bees", word_tagger(), "Bees")
    known = f'is known in {options.reviews} with another text, so the new texts are documents of their own (first: "1")'
    for text, said in (("Bees", []), ("Hives", [f"1 id {known}"]), ("Hives", []), ("Bees", [])):
        (tmp_path / "a.jsonl").write_text(f'{{"id": "1", "text": "{text}"}}\n{{"id": "2", "text": "Taxes"}}\n')
        caplog.clear()
        review = open_review(model, options)
        assert review is not None
        assert caplog.messages == said
        review.file.close()
    review = open_review(model, options)
    assert review is not None
    assert [review.documents[entry.number].text for entry in review.documents.entries()] == ["Bees", "Taxes", "Hives"]
    with pytest.raises(InputError, match="no such file"):
        open_review(model, ServerOptions(reviews=tmp_path / "r.sqlite", documents=[str(tmp_path / "none.jsonl")]))


def test_a_review_shows_as_many_suggestions_as_the_options_say(tmp_path: Path) -> None:
    model, file = ServedModel("bees", word_tagger(), "Bees"), tmp_path / "r.sqlite"
    for options, said in ((ServerOptions(reviews=file), 10), (ServerOptions(reviews=file, show=20), 20)):
        review = open_review(model, options)
        assert review is not None
        assert review.show == said
        review.file.close()


def test_told_to_end_it_finishes_what_is_under_way_and_the_file_of_decisions_is_whole(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, "--reviews", "r.sqlite") as (process, address):
        host, port = urlsplit(address).netloc.split(":")
        with socket.create_connection((host, int(port)), timeout=LONGEST) as connection:
            connection.sendall(
                b"POST /v1/projects/zero_shot/suggest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 15\r\n"
                b"Content-Type: application/x-www-form-urlencoded\r\n\r\ntext="
            )
            urllib.request.urlopen(f"{address}/health", timeout=LONGEST).close()  # the first request has arrived by now
            process.send_signal(signal.SIGTERM)
            with pytest.raises((ConnectionRefusedError, ConnectionResetError)):
                while True:  # until nobody new is let in
                    socket.create_connection((host, int(port)), timeout=LONGEST).close()
            connection.sendall(b"Honey+bees")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'"label":"Bees"' in answer
        assert process.wait(LONGEST) in (0, -signal.SIGTERM)
    assert [file.name for file in tmp_path.glob("r.sqlite*")] == ["r.sqlite"]


def test_an_answer_is_not_held_back_until_its_beginning_is_confirmed() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_in_use_is_one_line() -> None:
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"cannot listen on 127.0.0.1, port {port}: .*; give another --port"):
            listen("127.0.0.1", port)
