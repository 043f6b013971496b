"""`import tagwright as tw`: the way in, as a user of Python finds it, with nothing else imported."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tagwright as tw
from tagwright.combining.confidence import Curve
from tagwright.combining.label_free import LabelFree
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.steps import Step
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.encoders.precision import formats
from tagwright.sklearn import TaggerClassifier

NAMES = ["Bees", "Orchards", "Tax law"]
BEES, TAX = "Honey bees visit apple orchards.", "A new tax law."
WORDS: dict[str, Any] = {"stages": ["exact_match", "tfidf"], "language": "english"}


@pytest.fixture
def words() -> tw.Tagger:
    return tw.zero_shot(NAMES, **WORDS)


def names(suggestions: list[tw.Suggestion]) -> list[str]:
    return [each.name for each in suggestions]


LOADING = """
import json, sys, tagwright as tw
loaded = [sorted(sys.modules)]
tw.load(sys.argv[1]).suggest('Bees')
loaded.append(sorted(sys.modules))
tw.zero_shot(['Bees'], stages=['exact_match'])
loaded.append(sorted(sys.modules))
print(json.dumps(loaded))
"""


def test_no_more_is_loaded_than_is_needed(words: tw.Tagger, tmp_path: Path) -> None:
    """By the import nothing heavy, by a saved tagger no method and no evaluation, by zero_shot no other method."""
    words.save(tmp_path / "saved")
    command = [sys.executable, "-c", LOADING, str(tmp_path / "saved")]
    imported, loaded, made = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert not {"numpy", "torch", "pyarrow", "sklearn", "scipy", "rich"} & set(imported)
    assert "tagwright.tagger.pipeline" in loaded
    rooms = ("papers", "training", "evaluation", "api.job", "review")
    assert not [name for name in loaded if name.startswith(tuple(f"tagwright.{room}" for room in rooms))]
    assert not [name for name in made if name.startswith(("tagwright.papers.", "tagwright.auto"))]


def test_all_names_are_there_and_listed() -> None:
    assert set(tw.__all__) <= set(dir(tw))
    assert all(getattr(tw, name) for name in tw.__all__)
    assert tw.rts.__name__ == "tagwright.papers.rts"
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = tw.magic  # type: ignore[attr-defined]


def test_names_in_suggestions_out(tiny: str) -> None:
    tagger = tw.zero_shot(NAMES, encoder=tiny, progress=False, device="cpu")
    (found,) = [each for each in tagger.suggest(BEES, k=3) if each.id == "Bees"]
    assert (found.name, found.evidence) == ("Bees", ())
    assert isinstance(found.score, float)
    assert found.confidence is not None
    assert 0 < found.confidence < 1


def test_several_documents_give_several_lists(words: tw.Tagger) -> None:
    expected = [["Bees", "Orchards"], ["Tax law"]]
    given: list[Any] = [
        [BEES, TAX],
        (BEES, TAX),
        np.array([BEES, TAX]),
        [tw.Document("a", BEES), tw.Document("b", TAX)],
        [{"text": BEES}, {"text": TAX}],
        tw.Corpus.of([BEES, TAX]),
        (text for text in (BEES, TAX)),
    ]
    for documents in given:
        assert [names(each) for each in words.suggest(documents, k=3)] == expected
    assert names(words.suggest(tw.Document("a", BEES))) == ["Bees", "Orchards"]
    assert words.suggest([]) == []


@pytest.mark.parametrize("k", [0, "3", 1.5, None])
def test_k_is_a_whole_number(words: tw.Tagger, k: Any) -> None:
    with pytest.raises(tw.ConfigError, match=r"k is .*, expected (a whole number|at least 1), such as 10"):
        words.suggest(BEES, k=k)


def test_a_tagger_is_shown_by_its_size_and_its_stages(words: tw.Tagger) -> None:
    assert repr(words) == "Tagger of 3 labels: exact_match 0.5, tfidf 1; combined by evidence"


def test_explained_suggestions_are_the_same_with_evidence(words: tw.Tagger) -> None:
    suggested, explained = words.suggest(BEES), words.explain(BEES)
    assert [(each.id, each.score) for each in explained] == [(each.id, each.score) for each in suggested]
    assert [[one.stage for one in each.evidence] for each in explained] == [["exact_match", "tfidf"]] * 2
    assert [BEES[each.evidence[0].spans[0].start : each.evidence[0].spans[0].end] for each in explained] == [
        "bees",
        "orchards",
    ]


def test_tag_takes_texts_and_gives_arrays(words: tw.Tagger) -> None:
    assert words.tag([BEES, TAX], k=1).labels.tolist() == [0, 2]
    assert len(words.tag(TAX)) == 1


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (5, "the documents are 5, expected a text, a list, a column, a table, a Corpus or a Path"),
        (b"Bees", "the documents are .*Bees.*, expected a text"),
        ([BEES, 7], "documents:2: is 7, expected a text, a Document"),
        ([5], "documents:1: is 5, expected a text"),
        ([{"text": BEES}, TAX], "records:2: is .* expected a record as the first is"),
        ({"train": [BEES]}, 'a mapping with the keys "train"'),
    ],
)
def test_what_is_no_document_is_said_to_be_none(words: tw.Tagger, documents: Any, message: str) -> None:
    with pytest.raises(tw.InputError, match=message):
        words.suggest(documents)
    with pytest.raises(tw.InputError, match=message):
        words.tag(documents)


def test_labels_in_any_form(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("Bees\nTax law\n")
    label = tw.Label("1", ("Bees", "Apoidea"))
    given: list[Any] = [
        (["Bees"], "Bees"),
        ([label], "1"),
        (tw.Vocabulary([label]), "1"),
        ({"1": "Bees"}, "1"),
        ({"1": ["Bees", "Apoidea"]}, "1"),
        (tmp_path / "labels.txt", "Bees"),
        (str(tmp_path / "labels.txt"), "Bees"),
    ]
    for labels, expected in given:
        assert tw.zero_shot(labels, **WORDS).suggest(BEES)[0].id == expected


@pytest.mark.parametrize(
    ("labels", "message"),
    [([], "at least one label"), ([5], "label 1 is 5, expected a name"), (["Bees", "Bees"], "two labels have the id")],
)
def test_what_are_no_labels_is_said_to_be_none(labels: Any, message: str) -> None:
    with pytest.raises(tw.InputError, match=message):
        tw.Vocabulary(labels)


def test_one_text_is_no_vocabulary() -> None:
    with pytest.raises(tw.InputError, match="expected a list of names"):
        tw.Vocabulary("Bees")


def test_labels_are_exchanged_and_taggers_saved(words: tw.Tagger, tmp_path: Path) -> None:
    more = words.with_labels([*words.vocabulary, "Honey"])
    assert set(names(more.suggest(BEES))) == {"Bees", "Orchards", "Honey"}
    assert names(more.restrict(["Honey"]).suggest(BEES)) == ["Honey"]
    more.save(tmp_path / "my-tagger")
    assert tw.load(tmp_path / "my-tagger", device="cpu").suggest(BEES) == more.suggest(BEES)


def test_a_device_that_does_not_exist_is_refused() -> None:
    with pytest.raises(tw.ConfigError, match="device is 'tpu', expected one of auto, cpu, cuda"):
        tw.zero_shot(NAMES, device="tpu")  # type: ignore[arg-type]


ONE = ["The bees make honey. Bees fly to a flower.", "The bank keeps money. A stock market."]


def test_rts_is_trained_from_texts(tiny: str) -> None:
    documents = [tw.Document(str(i), ["Bee", "Bank"][i % 2], ONE[i % 2] * 4) for i in range(12)]
    tagger = tw.train("rts", documents, ["Bee", "Bank"], encoder=tiny, steps=2, batch=4, progress=False)
    assert tagger.training["method"] == "rts"
    assert tagger.training["options"]["training"]["steps"] == 2
    assert len(tagger.suggest(ONE, k=1)) == 2
    plain = tw.zero_shot(["Bee", "Bank"], encoder=tiny)
    fine = tw.train("finetune", ONE * 4, y=[["Bee"], ["Bank"]] * 4, model=plain, steps=1, batch=2, validation=0.0)
    assert fine.training["before"]["method"] == "zero_shot"
    assert list(fine.stages) == list(plain.stages)


def test_a_loss_is_a_function_of_anchors_positives_and_groups(tiny: str) -> None:
    shapes = list[tuple[int, ...]]()

    def cosine_distance(anchors: Any, positives: Any, groups: Any) -> Any:
        shapes.append((len(anchors), len(positives), len(groups)))
        return (1 - (anchors * positives).sum(dim=1)).mean()

    documents = [tw.Document(str(i), ["Bee", "Bank"][i % 2], ONE[i % 2] * 4) for i in range(12)]
    short: dict[str, Any] = {"steps": 2, "batch": 4, "validation": 0.0, "progress": False, "loss": cosine_distance}
    trained = tw.train("rts", documents, ["Bee", "Bank"], encoder=tiny, **short)
    assert shapes == [(4, 4, 4)] * 2
    plain = tw.zero_shot(["Bee", "Bank"], encoder=tiny)
    tuned = tw.train("finetune", ONE * 4, y=[["Bee"], ["Bank"]] * 4, model=plain, **short)
    assert shapes == [(4, 4, 4)] * 4
    named = "test_a_loss_is_a_function_of_anchors_positives_and_groups.<locals>.cosine_distance"
    assert [each.training["options"]["loss"] for each in (trained, tuned)] == [named] * 2
    options = {"meta_path": "P-A-P", "encoder": tiny, **short}
    written = [replace(each, metadata={"author": (str(n // 4),)}) for n, each in enumerate(documents)]
    by_author = tw.train("micol", written, ["Bee", "Bank"], architecture="bi", **options)
    assert shapes == [(4, 4, 4)] * 6
    assert by_author.training["options"]["loss"] == named
    with pytest.raises(tw.ConfigError, match=r"no vectors of pairs.*; set architecture=bi, or leave it out"):
        tw.train("micol", written, ["Bee", "Bank"], architecture="cross", **options)
    with pytest.raises(
        tw.ConfigError, match=r"loss=\.\.\. is accepted by rts, micol, finetune, not by svm; it compares"
    ):
        tw.train("svm", documents, ["Bee", "Bank"], loss=cosine_distance)


def test_pairs_are_a_function_of_the_epoch(tiny: str, tmp_path: Path) -> None:
    epochs = list[int]()

    def shouted(epoch: int, mark: str = "!") -> Iterator[tw.Pair]:
        epochs.append(epoch)
        yield from (tw.Pair(text, text + mark, group) for group, text in enumerate(ONE * 4))

    short: dict[str, Any] = {"encoder": tiny, "steps": 3, "batch": 4, "validation": 0.0, "progress": False}
    documents, labels = [tw.Document("0", "No pair of RTS")], ["Bee", "Bank"]
    trained = tw.train("rts", documents, labels, pairs=shouted, output=tmp_path / "tagger", **short)
    assert {0, 1} <= {*epochs}  # an epoch of 8 pairs fills two batches
    assert trained.training["options"]["pairs"] == "test_pairs_are_a_function_of_the_epoch.<locals>.shouted"
    before = [json.loads((tmp_path / "tagger/manifest.json").read_text())["training"]["data"]["pairs"]]
    for pairs in (shouted, partial(shouted, mark="?")):
        again = tw.train("rts", documents, labels, pairs=pairs, output=tmp_path / "tagger", overwrite=True, **short)
        before.append(again.training["data"]["pairs"])
    assert before[0] == before[1] != before[2]
    with pytest.raises(tw.ConfigError, match=r"pairs=\.\.\. is accepted by rts, not by maclr"):
        tw.train("maclr", documents, labels, pairs=shouted, **short)


@pytest.mark.parametrize(("labelled", "learned"), [(8, LabelFree), (60, Curve)])
def test_confidences_are_those_of_the_fine_tuned_encoder(tiny: str, labelled: int, learned: type[Step]) -> None:
    plain = tw.zero_shot(["Bee", "Bank"], encoder=tiny)
    before = replace(plain, steps=(WeightedSum(), Curve(slope=9.0, intercept=9.0)))
    documents = [tw.Document(str(i), f"{ONE[i % 2]} {i}", labels=(["Bee", "Bank"][i % 2],)) for i in range(labelled)]
    fine = tw.train("finetune", documents, model=before, steps=1, batch=2, validation=0.0, progress=False)
    assert [type(step) for step in fine.steps] == [WeightedSum, learned, NoneFits]
    assert fine.steps[1] != before.steps[1]


def test_the_method_is_recorded_in_its_one_spelling(tiny: str) -> None:
    training = tw.train("zero-shot", ONE, ["Bee", "Bank"], stages=["exact-match"], language="en").training
    assert training["method"] == "zero_shot"
    assert training["options"]["stages"] == ["exact_match"]
    auto = tw.train("auto", ONE, ["Bee", "Bank"], stages=["exact-match"], language="en", progress=False)
    assert "exact_match" in auto.stages


@pytest.mark.parametrize("y", [[["Bees"], ["2"]] * 6, ["Bees", "2"] * 6, [("1",), ("Taxes",)] * 6])
def test_svm_learns_from_ids_or_names(y: Any) -> None:
    labels = {"1": "Bees", "2": "Taxes"}
    tagger = tw.train("svm", [BEES, TAX] * 6, labels, y=y)
    assert [each[0].id for each in tagger.suggest([BEES, TAX], k=1)] == ["1", "2"]


def test_gold_labels_of_documents_count_as_well() -> None:
    documents = [tw.Document(str(i), [BEES, TAX][i % 2], labels=(["Bees", "Taxes"][i % 2],)) for i in range(12)]
    tagger = tw.train("svm", documents, ["Bees", "Taxes"], fuse=False)
    assert tagger.suggest(TAX, k=1)[0].id == "Taxes"


def test_y_has_labels_for_each_document() -> None:
    for y in ([["Bees"]], [["Bees"]] * 3):
        with pytest.raises(tw.InputError, match="y has labels for"):
            tw.train("svm", [BEES, TAX], NAMES, y=y)


def test_evaluate_gives_scores_with_intervals(words: tw.Tagger) -> None:
    # "Bees" comes before "Orchards", so one of the two first suggestions is right; both labels are among the first ten
    documents = [tw.Document("a", BEES, labels=("Orchards",)), tw.Document("b", TAX, labels=("Tax law",))]
    found = tw.evaluate(words, documents)
    assert found["P@1"].value == 0.5
    assert found["R@10"] == tw.Score(1.0, 1.0, 1.0)
    run, gold = words.tag(documents), tw.Run.from_rows([[1], [2]])
    assert tw.evaluate(run, gold)["nDCG@5"] == found["nDCG@5"]
    assert tw.evaluate(run, documents, labels=NAMES)["nDCG@5"] == found["nDCG@5"]
    assert tw.evaluate(words, [BEES, TAX], y=[["Orchards"], ["Tax law"]])["nDCG@5"] == found["nDCG@5"]
    assert tw.evaluate(words, documents, measures=["R@150"])["R@150"].value == 1.0
    with pytest.raises(tw.ConfigError, match='no measure "P@7" was computed; the measures are P@1'):
        _ = found["P@7"]
    with pytest.raises(tw.InputError, match='"2" has no gold label'):
        tw.evaluate(words, [BEES, TAX], y=[["Bees"], []])
    assert tw.evaluate(words, [BEES, TAX], y=[["Bees"], []], skip_unlabelled=True).documents == 1


def test_nothing_is_fetched_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    import huggingface_hub

    asked: list[str] = []

    def pickled(name: str, **_: object) -> SimpleNamespace:
        asked.append(name)
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename="pytorch_model.bin")])

    monkeypatch.setattr(huggingface_hub, "model_info", pickled)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    options: dict[str, Any] = {"encoder": "somebody/not-here", "offline": True}
    with pytest.raises(tw.TagwrightError, match="nothing is fetched while offline"):
        tw.zero_shot(NAMES, stages=["dense"], **options)
    with pytest.raises(tw.TagwrightError, match="nothing is fetched while offline"):
        tw.train("maclr", [{"title": "Bees", "abstract": "They fly."}] * 9, NAMES, **options)
    assert asked == []
    with pytest.raises(tw.TagwrightError, match="no safetensors"):
        tw.zero_shot(NAMES, stages=["dense"], encoder="somebody/not-here")
    assert asked == ["somebody/not-here"]


def test_a_saved_tagger_computes_in_the_precision_that_is_asked_for(tiny: str, tmp_path: Path) -> None:
    tw.zero_shot(NAMES, stages=["dense"], encoder=tiny, precision="float32").save(tmp_path / "saved")
    for precision in (None, *(name for name in ("bfloat16",) if name in formats())):
        dense = tw.load(tmp_path / "saved", precision=precision).stages["dense"]  # type: ignore[arg-type]
        assert dense.encoder.precision == (precision or "float32")  # type: ignore[attr-defined]
    with pytest.raises(tw.TagwrightError, match="precision is 'half', expected one of"):
        tw.load(tmp_path / "saved", precision="half")  # type: ignore[arg-type]


def test_an_encoder_may_be_a_path_or_a_model_and_is_saved_with_the_tagger(tiny: str, tmp_path: Path) -> None:
    import sentence_transformers

    options: dict[str, Any] = {"stages": ["dense"], "precision": "float32", "device": "cpu"}
    model = sentence_transformers.SentenceTransformer(tiny, device="cpu")
    expected = tw.zero_shot(NAMES, encoder=tiny, **options).tag([BEES]).scores
    assert tw.zero_shot(NAMES, encoder=Path(tiny), **options).tag([BEES]).scores == pytest.approx(expected)
    tagger = tw.zero_shot(NAMES, encoder=model, **options)
    del model
    tagger.save(tmp_path / "saved")
    assert tw.load(tmp_path / "saved").tag([BEES]).scores == pytest.approx(expected, abs=1e-5)
    with pytest.raises(tw.ConfigError, match="encoder is 7, expected a name, a folder, or a SentenceTransformer, an"):
        tw.zero_shot(NAMES, encoder=7, **options)


class Letters:
    """Counts how often a text holds each of three letters."""

    def encode(self, texts: list[str]) -> list[list[int]]:
        return [[text.count(letter) for letter in "bgt"] for text in texts]


def test_an_encoder_may_be_an_object_or_a_function(tmp_path: Path) -> None:
    """Of Bees, Taxes and Glaciers the letters are b (with a capital: none), t and g."""
    names = ["bees", "taxes", "glaciers"]
    for encoder in (Letters(), Letters().encode):
        tagger = tw.zero_shot(names, encoder=encoder, stages=["dense"], language="en")
        assert [row[0].id for row in tagger.suggest(["tt", "bbb", "g", "b"], k=1)] == [
            "taxes",
            "bees",
            "glaciers",
            "bees",
        ]
        assert [each.id for each in tagger.suggest("gbggb", k=2)] == ["glaciers", "bees"]
        with pytest.raises(
            tw.ModelError, match=r"encoder .*, which was given as an object, cannot be saved; make it anew"
        ):
            tagger.save(tmp_path / "saved")
        assert not (tmp_path / "saved").exists()
    whole = tw.zero_shot(names, encoder=Letters(), language="en")
    assert whole.suggest("bees", k=1)[0].id == "bees"
    prompted = tw.zero_shot(names, encoder=Letters(), prompts={"query": "ggg"}, stages=["dense"], language="en")
    assert prompted.suggest("b", k=1)[0].id == "glaciers"


@pytest.mark.parametrize(
    ("encoder", "problem"),
    [
        (lambda texts: texts, "gives no numbers"),
        (lambda texts: [1.0] * len(texts), r"gives for 1 texts an array of the shape \(1,\), expected a vector"),
        (lambda texts: [[float("nan")]] * len(texts), "expected a vector of finite numbers for each"),
    ],
)
def test_an_encoder_that_gives_no_vectors(encoder: Any, problem: str) -> None:
    with pytest.raises(tw.ModelError, match=problem):
        tw.zero_shot(NAMES, encoder=encoder, stages=["dense"])


def test_methods_that_train_an_encoder_take_no_object() -> None:
    accepted = (
        "expected a name, a folder, or a SentenceTransformer, which rts can train; zero_shot and auto take an object"
    )
    with pytest.raises(tw.ConfigError, match=rf"Letters.*, {accepted}"):
        tw.train("rts", ["Bees"], NAMES, encoder=Letters())
    pytest.importorskip("torch")
    tagger = tw.zero_shot(["bees", "taxes"], encoder=Letters(), stages=["dense"], language="en")
    with pytest.raises(tw.ConfigError, match="whose encoder is a folder or model, not an object"):
        tw.train("finetune", ["bees"] * 8, y=[["bees"]] * 8, model=tagger)


def test_a_method_that_combines_stages_takes_an_encoder_as_an_object(tmp_path: Path) -> None:
    """Texts of the letters b and t alone; of a label of b and one of t, each has its own."""
    options: dict[str, Any] = {"encoder": Letters(), "stages": ["dense"], "language": "en"}
    texts = ["bb", "tt", "bbb", "ttt"] * 3
    tagger = tw.train("auto", texts, ["b", "t"], y=[["b"], ["t"]] * 6, **options)
    assert [each.name for each in tagger.suggest(["bbbb", "tttt"], k=1)[1]] == ["t"]
    with pytest.raises(tw.ModelError, match="given as an object, cannot be saved"):
        tw.train("auto", texts, ["b", "t"], y=[["b"], ["t"]] * 6, output=tmp_path / "saved", **options)
    assert not list(tmp_path.iterdir())


def test_a_message_names_options_as_python_does() -> None:
    with pytest.raises(tw.TagwrightError, match=r"give the documents to train on: train=\.\.\."):
        tw.evaluate(tw.Run.from_rows([[0]]), tw.Run.from_rows([[0]]), measures=["PSP@1"])


def both() -> dict[str, Any]:
    return {stage: tw.zero_shot(NAMES, stages=[stage], language="en") for stage in ("exact_match", "tfidf")}


DOCUMENTS = [tw.Document("a", BEES, labels=("Orchards",)), tw.Document("b", TAX, labels=("Tax law",))]


def test_compare_takes_taggers_and_runs_by_name_or_not(words: tw.Tagger) -> None:
    one, other = both().values()
    found = tw.compare(one, other, words.tag(DOCUMENTS), DOCUMENTS, measures=["P@1", "R@2"])
    assert list(found) == [("A", "B"), ("A", "C"), ("B", "C")]
    named = tw.compare(both(), DOCUMENTS, measures=["P@1"])
    assert list(named) == [("exact_match", "tfidf")]
    assert named["P@1"].a == tw.evaluate(one, DOCUMENTS)["P@1"]
    runs = [tagger.tag(DOCUMENTS) for tagger in (one, other)]
    assert tw.compare(*runs, tw.Run.from_rows([[1], [2]]), measures=["P@1"])["P@1"] == named["P@1"]
    assert tw.compare(*runs, [BEES, TAX], y=[["Orchards"], ["Tax law"]], labels=NAMES)["P@1"] == named["P@1"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "no tagger and no run is given"),
        ((DOCUMENTS,), "no tagger and no run is given"),
        ((5, DOCUMENTS), "got 5, expected taggers or runs, and last the documents"),
        ((tw.Run.from_rows([[0], [1]]), DOCUMENTS), "which labels"),
    ],
)
def test_what_cannot_be_compared_is_refused(given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(tw.ConfigError, match=message):
        tw.compare(*given)


def test_taggers_of_other_labels_are_not_compared(words: tw.Tagger) -> None:
    with pytest.raises(tw.ConfigError, match="different vocabularies"):
        tw.compare(words, words.with_labels(["Bees"]), DOCUMENTS)
    with pytest.raises(tw.ConfigError, match="got 1 run, expected two or more"):
        tw.compare(words, DOCUMENTS)


def test_report_writes_the_pages_of_the_command_line(words: tw.Tagger, tmp_path: Path) -> None:
    found = tw.report(words, DOCUMENTS, output=tmp_path / "scores.html")
    assert dict(found) == dict(tw.evaluate(words, DOCUMENTS))
    page = (tmp_path / "scores.html").read_text(encoding="utf-8")
    assert "<h1>How good the suggestions are</h1>" in page
    assert "exact_match 0.5, tfidf 1" in page
    assert "Orchards" in page
    compared = tw.report(both(), DOCUMENTS, output=str(tmp_path / "both.html"))
    assert isinstance(compared, tw.Comparisons)
    assert "exact_match - tfidf, in points" in (tmp_path / "both.html").read_text(encoding="utf-8")


def test_a_measure_that_does_not_exist_is_refused_before_anything_is_tagged(words: tw.Tagger) -> None:
    with pytest.raises(tw.ConfigError, match='no measure "F1@x"; there are P@k'):
        tw.evaluate(words, DOCUMENTS, measures=["F1@x"])


def test_hierarchical_measures_come_with_the_vocabulary() -> None:
    """Owls for birds: {owls, birds} and {birds}; hP 1/2, hR 1."""
    labels = [tw.Label("1", ("Birds",)), tw.Label("2", ("Owls",), broader=("1",))]
    tagger = tw.zero_shot(labels, stages=["exact_match"], language="en")
    found = tw.evaluate(tagger, [tw.Document("a", "Owls at night", labels=("1",))])
    assert {name: found[name].value for name in ("hP@5", "hR@5", "hF@5")} == pytest.approx(
        {"hP@5": 0.5, "hR@5": 1.0, "hF@5": 2 / 3}
    )
    gold = tw.Run.from_rows([[0]])
    assert tw.evaluate(tw.Run.from_rows([[1]]), gold, labels=labels, measures=["hP@1"])["hP@1"].value == 0.5
    assert tw.compare(tagger, tagger, [tw.Document("a", "Owls", labels=("1",))])["hF@5"].difference.value == 0


def test_columns_that_cannot_be_told_are_given_to_a_corpus(words: tw.Tagger) -> None:
    """The remedy is what the function takes: a corpus with the columns."""
    rows = [{"one": "Bees", "two": "x"}, {"one": "Tax", "two": "y"}]
    with pytest.raises(tw.InputError, match=r'columns are "one", "two"; say which: Corpus.of\(documents, title=\.\.\.'):
        tw.evaluate(words, rows)
    corpus = tw.Corpus.of(rows, title="one", labels="two")
    assert tw.evaluate(words, corpus, y=[["Bees"], ["Tax law"]])["P@1"] == 1.0


def test_what_no_measure_of_a_run_needs_is_refused() -> None:
    run = tw.Run.from_rows([[0]])
    with pytest.raises(TypeError, match='unknown option "mesures"; did you mean "measures"'):
        tw.evaluate(run, run, mesures=["P@1"])  # type: ignore[call-arg]
    assert tw.evaluate(run, run, only=(), per_branch=None)["P@1"].value == 1.0
    with pytest.raises(tw.ConfigError, match="conditions on labels need documents"):
        tw.evaluate(run, run, per_branch=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda it: it.suggest("Bees", min_conf=0.5), 'unknown option "min_conf"; did you mean "min_confidence"'),
        (lambda it: it.tag(["Bees"], mincore=1), 'unknown option "mincore"; did you mean "min_score"'),
        (lambda it: it.explain("Bees", progess=False), 'unknown option "progess"; did you mean "progress"'),
        (lambda it: it.suggest("Bees", selv=1), "known are k, min_score"),  # and not self
        (lambda it: tw.evaluate(it, ["Bees"], y=[["Bees"]], mesures=["P@1"]), 'did you mean "measures"'),  # type: ignore[call-arg]
        (lambda it: tw.evaluate(it, ["Bees"], y=[["Bees"]], exlude_self=True), 'did you mean "exclude_self"'),  # type: ignore[call-arg]
        (lambda _: tw.zero_shot(["Bees"], documnts=["Bees"]), 'did you mean "documents"'),
        (lambda _: tw.zero_shot(["Bees"], encodr="minilm"), 'did you mean "encoder"'),
        (lambda _: tw.train("svm", ["Bees"], ["Bees"], y=[["Bees"]], outptu="x"), 'did you mean "output"'),
        (lambda _: tw.load("x", verfy=True), 'did you mean "verify"'),  # type: ignore[call-arg]
        (lambda _: TaggerClassifier(labels=["Bees"], max_lables=1).fit(["Bees"]), 'did you mean "max_labels"'),
    ],
)
def test_an_argument_that_does_not_exist_is_an_error_with_the_nearest_one(
    words: tw.Tagger, call: Callable[[tw.Tagger], object], said: str
) -> None:
    with pytest.raises(TypeError, match=said) as error:
        call(words)
    assert isinstance(error.value, tw.ConfigError)
    assert "\n" not in str(error.value)
