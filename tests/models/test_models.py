"""Models with a history, in Python: what each version records, how good it is, and which one answers."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from tests.server.conftest import word_tagger

import tagwright as tw
from tagwright.combining.confidence import Curve
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.steps import digest
from tagwright.data.corpus import Corpus
from tagwright.errors import ConfigError, ModelError
from tagwright.evaluation import dataset
from tagwright.evaluation.dataset import EvaluationSet
from tagwright.models.record import measured_blind, model_card

BEE, TAX, ORCHARD = "http://x.org/bee", "http://x.org/tax", "o"
DOCUMENTS = ["Bees in the hive.", "A tax law.", "Bees in orchards.", "Orchards"]
GOLD = [[BEE], [TAX], [BEE, ORCHARD], [ORCHARD]]


def worse() -> tw.Tagger:
    """A tagger that knows one of the labels only."""
    return word_tagger().restrict([TAX])


def test_a_folder_answers_as_the_version_in_use(tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "saved")
    models = tw.Models(tmp_path / "models")
    assert models.add(tmp_path / "saved").name == "0001"
    assert models.add(worse()).name == "0002"
    assert [each.name for each in models] == ["0001", "0002"]
    assert len(tw.load(tmp_path / "models").vocabulary) == 3
    models.promote("2")
    assert len(tw.load(tmp_path / "models").vocabulary) == 1
    assert models.current == models[2]
    assert models.rollback() == models[1]
    assert {each.id for each in models.current.load().suggest("Bees in orchards")} == {BEE, ORCHARD}


def test_a_damaged_tagger_is_not_added(tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "saved")
    names = tmp_path / "saved" / "vocabulary" / "names.npy"
    names.write_bytes(names.read_bytes().replace(b"Bees", b"Beer"))
    models = tw.Models(tmp_path / "models")
    with pytest.raises(ModelError, match="its checksum differs"):
        models.add(tmp_path / "saved")
    assert len(models) == 0
    assert not (tmp_path / "models" / "current.json").exists()


def test_the_record_says_what_a_version_was_made_from(tmp_path: Path) -> None:
    texts = ["Bees make honey.", "The tax on income."] * 12
    labels, y = ["Bees", "Taxes", "Rain"], [["Bees"], ["Taxes"]] * 11 + [["Bees"], []]
    tw.train("svm", texts, labels, y=y, language="en", output=tmp_path / "svm")
    models = tw.Models(tmp_path / "models")
    record = models.add(tmp_path / "svm").record
    (training,) = record["trainings"]
    # 12 documents about bees, 11 about taxes, one without a label
    assert training["learned_from"] == {"documents": 24, "labelled": 23, "labels": 2, "rare": 0}
    corpus = Corpus.of([tw.Document(str(n), text, labels=tuple(y[n])) for n, text in enumerate(texts)])
    assert len(training["data"]["documents"]) == len(corpus.digest())
    assert (record["labels"], record["from"], record["tagwright"]) == (3, str(tmp_path / "svm"), tw.__version__)
    assert record["digests"]["vocabulary"] == digest(tw.Vocabulary(labels))
    again = models.add(tmp_path / "svm").record
    assert again["digests"] == record["digests"]
    other = replace(tw.load(tmp_path / "svm"), steps=(WeightedSum(weights={"linear": 2.0}),))
    changed = models.add(other).record["digests"]
    assert changed["data"] == record["digests"]["data"]
    assert changed["vocabulary"] == record["digests"]["vocabulary"]
    assert changed["configuration"] != record["digests"]["configuration"]


def test_two_versions_are_compared_on_the_same_documents_and_record_their_scores(tmp_path: Path) -> None:
    models = tw.Models(tmp_path / "models")
    models.add(word_tagger())
    models.add(worse())
    found = models.compare(2, DOCUMENTS, y=GOLD)
    # the first is right on all 4 documents; the second knows taxes alone, which is one document in four
    assert (found["P@1"].a, found["P@1"].b) == (0.25, 1.0)
    assert found["P@1"].difference.value == -0.75
    assert list(found) == [("0002", "0001")]
    (scores,) = models[2].record["scores"]
    assert (scores["documents"], scores["besides"]) == (4, "0001")
    assert scores["measures"]["P@1"]["value"] == 0.25
    assert models[1].record["scores"][0]["measures"]["P@1"]["value"] == 1.0
    models.compare(2, DOCUMENTS, y=GOLD)
    assert len(models[2].record["scores"]) == 1  # of the same documents, the last scores
    assert "| P@1 | 25.0 |" in models[2].card
    tw.load(models[2].folder, verify=True)
    with pytest.raises(ConfigError, match="version 0001 is in use; compare another one"):
        models.compare(1, DOCUMENTS, y=GOLD)


def test_measuring_on_the_documents_of_the_training_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    models = tw.Models(tmp_path / "models")
    models.add(word_tagger())
    corpus = Corpus.of([tw.Document("1", "Bees", labels=(BEE,))])
    data = {"documents": corpus.digest()}
    models.add(replace(word_tagger(), training={"method": "svm", "data": data}))
    with caplog.at_level(logging.WARNING):
        models.compare(2, corpus)
    assert [each for each in caplog.messages if "version 0002 has learned from these documents" in each]
    assert not [each for each in caplog.messages if "version 0001" in each]


def test_measuring_on_some_documents_of_the_training_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [f"{subject}, part {part}." for part in range(6) for subject in ("Bees make honey", "The tax on income")]
    y = [["Bees"], ["Taxes"]] * 6
    y[-1] = []  # nothing is learned from a text without labels
    trained = tw.train("svm", texts, ["Bees", "Taxes"], y=y, language="en", check=False)
    models = tw.Models(tmp_path / "models")
    models.add(trained)
    models.add(worse())
    tests = [f" {texts[0]}\n", texts[1], texts[-1], "Bees in orchards."]
    with caplog.at_level(logging.WARNING):
        models.compare(2, tests, y=[["Bees"], ["Taxes"], ["Taxes"], ["Bees"]], unknown="ignore")
    warned = [each for each in caplog.messages if "has learned from" in each]
    assert warned == ["version 0001 has learned from at least 2 of these 4 documents: it looks better here than it is"]


RECORD = {
    "added": "2026-11-24T08:00:00+00:00", "from": "svm", "tagwright": "0.1.0", "digests": {"files": "ab" * 32},
    "labels": 200, "languages": ["English"], "stages": {"linear": "words of labelled documents"}, "scores": [],
    "trainings": [
        {"method": "svm", "date": "2026-11-23",
         "learned_from": {"documents": 60, "labelled": 40, "labels": 50, "rare": 45}}
    ],
}  # fmt: skip


def test_the_card_says_for_whom_a_version_is_not() -> None:
    card = model_card("0003", RECORD)
    assert card.startswith("# Model card of version 0003\n\n- added 2026-11-24T08:00:00+00:00 from svm")
    assert "- svm, 2026-11-23: 60 documents, 40 of them labelled, with 50 different labels" in card
    assert "It was not measured on documents that it has not learned from." in card
    assert "- Few labelled documents: it learned from 40. To gain most, label " in card
    assert "50 of 200 labels (25%) occur in what it learned from, 45 of these in fewer than 10 documents" in card
    assert "texts in others than English need a measurement" in card
    assert "tagwright models FOLDER compare 0003 --test DOCS" in card


def test_a_tagger_that_is_a_version_already_is_not_added_again(tmp_path: Path) -> None:
    models = tw.Models(tmp_path / "models")
    word_tagger().save(tmp_path / "saved")
    models.add(tmp_path / "saved")
    models.add(worse())
    assert [models.add(each).name for each in (tmp_path / "saved", word_tagger(), worse())] == ["0001", "0001", "0002"]
    assert models.add(replace(worse(), training={"data": {"documents": "others"}})).name == "0003"
    assert [each.name for each in models] == ["0001", "0002", "0003"]
    assert models.add(worse(), after="0001").name == models.current.name == "0002"  # as the new one would be


def test_what_was_measured_blind_is_said_of_the_version_that_it_was_measured_of(tmp_path: Path) -> None:
    difference = {"value": 0.1, "low": 0.05, "high": 0.15}
    blind = {"documents": 25, "besides": "0001", "after": 0.9, "before": 0.8, "difference": difference}
    measured = {"data": {"decisions": "1"}, "combined": {"nDCG@5": {"before": 0.8, "after": 0.81}, "blind": blind}}
    models = tw.Models(tmp_path / "models")
    first = models.add(replace(word_tagger(), training=measured))
    assert measured_blind(first.record) == blind
    assert "on 25 documents reviewed blind, which it has not learned from: nDCG@5 90.0, 80.0 with version" in first.card
    later = models.add(replace(word_tagger(), training={"data": {"documents": "2"}, "before": measured}))
    assert measured_blind(later.record) == {}
    assert "not measured on documents that it has not learned from" in later.card
    assert "reviewed blind" not in later.card


def test_a_version_that_learned_from_documents_reviewed_blind_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [f"{subject}, part {part}." for part in range(6) for subject in ("Bees make honey", "The tax on income")]
    documents = [
        tw.Document(
            str(n), text, metadata={"reviewed": ("blind",)} if n < 3 else {}, labels=(("Bees", "Taxes")[n % 2],)
        )
        for n, text in enumerate(texts)
    ]
    trained = tw.train("svm", documents, ["Bees", "Taxes"], language="en", check=False)
    (said,) = [each for each in caplog.messages if "blind" in each]
    assert said.startswith(
        "3 documents to learn from were reviewed blind: what is learned from them cannot be measured"
    )
    caplog.clear()
    version = tw.Models(tmp_path / "models").add(trained)
    said = "version 0001 has learned from 3 documents reviewed blind, which say nothing of how good it is"
    assert caplog.messages == [said]
    assert "with 2 different labels, 3 reviewed blind, which do not measure it" in version.card
    caplog.clear()
    tw.train("svm", documents[3:], ["Bees", "Taxes"], language="en", check=False)
    assert not [each for each in caplog.messages if "blind" in each]


def test_evaluating_on_documents_of_the_training_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    texts = ["Bees make honey.", "The tax on income."] * 6
    trained = tw.train("svm", texts, ["Bees", "Taxes"], y=[["Bees"], ["Taxes"]] * 6, language="en", check=False)
    tw.evaluate(trained, ["Bees make honey.", "Another tax."], y=[["Bees"], ["Taxes"]])
    said = [each for each in caplog.messages if "learned from" in each]
    assert said == ["the tagger has learned from at least 1 of these 2 documents: it looks better here than it is"]


def test_the_card_shows_scores_with_their_intervals() -> None:
    score = {"value": 0.5, "low": 0.25, "high": 0.754}
    scores = {"date": "2026-11-24", "digest": "c" * 64, "documents": 4, "besides": "0002", "measures": {"P@1": score}}
    combined = {"combined": {"nDCG@5": {"before": 0.908, "after": 0.921}}}
    card = model_card("0003", {**RECORD, "trainings": [*RECORD["trainings"], combined], "scores": [scores]})  # type: ignore[misc]
    assert "nDCG@5 92.1, before the training 90.8\n\nOn 4 documents" in card
    assert "On 4 documents (digest `cccccccccccccccc`), 2026-11-24, beside version 0002:" in card
    assert "| P@1 | 50.0 | 25.0 to 75.4 |" in card
    assert "not measured on documents" not in card


def test_a_version_that_estimates_no_confidences_is_promoted_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    models, plain = tw.Models(tmp_path / "models"), word_tagger()
    fitted = replace(plain, steps=(WeightedSum(), Curve(slope=1.0, intercept=0.0)))
    for tagger in (plain, fitted, worse()):
        models.add(tagger)
    for version in (2, 2, 3, 1):
        models.promote(version)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("version 0003 estimates no confidences, as 0002 does: it refuses thresholds")


def test_any_two_versions_are_compared_and_a_worse_one_is_promoted_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    models = tw.Models(tmp_path / "models")
    as_good = replace(word_tagger(), steps=(WeightedSum(weights={"exact_match": 2.0}),))
    for tagger in (word_tagger(), as_good, worse()):
        models.add(tagger)
    assert list(models.compare(3, DOCUMENTS, other=2, y=GOLD)) == [("0003", "0002")]
    models.promote(2)
    assert not [each for each in caplog.messages if "was measured better" in each]
    models.promote(3)
    # the second has all labels of the four documents, the third the only one of a single document
    said = "version 0002 was measured better than 0003 on the same 4 documents: nDCG@5 100.0 against 25.0"
    assert [each for each in caplog.messages if "was measured better" in each] == [said]
    with pytest.raises(ConfigError, match="version 0002 is both; compare another one"):
        models.compare(2, DOCUMENTS, other=2, y=GOLD)
    (models[2].folder / "record.json").unlink()  # nothing to warn of is no reason to refuse
    assert models.promote(1).name == models.current.name == "0001"


def test_scores_that_another_process_records_meanwhile_stay_and_a_removed_version_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, tag = tw.Models(tmp_path / "models"), dataset.tag_across_vocabularies
    for tagger in (word_tagger(), worse(), word_tagger().restrict([BEE]), word_tagger().restrict([ORCHARD])):
        models.add(tagger)

    def beside(tagger: tw.Tagger, task: EvaluationSet, **_: str) -> tw.Run:
        monkeypatch.setattr(dataset, "tag_across_vocabularies", tag)
        models.compare(2, DOCUMENTS[:2], y=GOLD[:2])
        return tag(tagger, task)

    monkeypatch.setattr(dataset, "tag_across_vocabularies", beside)
    models.compare(2, DOCUMENTS, y=GOLD)
    assert [each["documents"] for each in models[2].record["scores"]] == [2, 4]

    def pruned(tagger: tw.Tagger, task: EvaluationSet, **_: str) -> tw.Run:
        models.prune(1)
        return tag(tagger, task)

    monkeypatch.setattr(dataset, "tag_across_vocabularies", pruned)
    models.compare(2, DOCUMENTS, y=GOLD)
    assert sorted(path.name for path in (tmp_path / "models" / "versions").iterdir()) == ["0001", "0004"]
