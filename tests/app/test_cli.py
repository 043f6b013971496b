"""The command line: what each command prints."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from tests.app.conftest import DOCUMENTS, Command, write
from tests.llm.stub import scores, serving
from typer.testing import CliRunner

from tagwright import __version__
from tagwright.app.cli import app
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.scores import STANDARD, WITH_TRAIN
from tagwright.stages.dense import retriever
from tagwright.tagger import zero_shot

WORDS = ("--set", 'stages=["exact_match", "tfidf"]', "--set", "weights=[0.5, 1.0]")
"Settings that need no encoder."

ON = ("docs.jsonl", "--labels", "labels.jsonl")
RIGHT = (*ON, "--run", "right.jsonl")


def answer(run: Command, *arguments: str) -> str:
    outcome = run(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def test_without_arguments_the_help_is_printed(run: Command) -> None:
    assert "evaluate" in answer(run)


def test_a_choice_that_does_not_exist_is_refused_in_plain_words(run: Command) -> None:
    found = run("suggest", "docs.jsonl", "--labels", "labels.jsonl", "--format", "xml")
    assert found.code == 2
    assert found.err == (
        "tagwright: Invalid value for '--format': 'xml' is not one of 'text', 'jsonl', 'trec', 'tsv', 'csv', 'xlsx', "
        "'label_studio', 'argilla'. (tagwright suggest --help)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("train", "svn", "docs.jsonl"), 'no method "svn"; did you mean "svm"?'),
        (("train", "micoll", "--options"), 'did you mean "micol"?'),
        (("train", "index"), 'no method "index"; there are zero_shot, auto, rts,'),
        (("evalute",), "Did you mean 'evaluate'?"),
        (("xyz",), "No such command 'xyz'. (tagwright --help)"),
    ],
)
def test_of_a_name_that_does_not_exist_the_nearest_one_is_said(
    run: Command, arguments: tuple[str, ...], meant: str
) -> None:
    found = run(*arguments)
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert meant in found.err


def test_suggest_prints_documents_and_their_labels(run: Command, tiny: str) -> None:
    printed = answer(run, "suggest", *ON, "--set", tiny, "--set", "weights=[1.0, 1.0, 0.0]", "-k", "1").splitlines()
    lines = [line for line in printed if "no label fits" not in line]  # which depends on random weights
    assert lines[0] == "1  Honey of the bees"
    assert re.fullmatch(r" +\d+\.\d{3}  \w+ +Bees  \[bee\]", lines[1])
    assert [line.split("  ")[0] for line in lines[::2]] == ["1", "2", "3"]


def test_an_explanation_names_the_section(run: Command, tmp_path: Path) -> None:
    (tmp_path / "bees.md").write_text("# Bees\n\n## Places\n\n### Gardens\n\nThey like orchards.\n", encoding="utf-8")
    (tmp_path / "labels.csv").write_text("id,name\n3,Orchards\n", encoding="utf-8")
    files = str(tmp_path / "bees.md"), "--labels", str(tmp_path / "labels.csv")
    text = answer(run, "suggest", *files, "--set", "stages=['exact_match']", "--set", "weights=[1.0]", "--explain")
    assert '"orchards" 30-38 in Places > Gardens' in text  # after "Bees", "Places", "Gardens", each with its line end


def test_suggest_explains_with_pieces_of_the_text(run: Command, tiny: str) -> None:
    text = answer(run, "suggest", *ON, "--set", tiny, "--explain")
    assert re.search(r'^ +\+\d+\.\d\d  exact_match #1: "bees" 13-17, "bee" 20-23$', text, re.MULTILINE)
    assert re.search(r'^ +\+\d+\.\d\d  tfidf #1: .*"Honey" 0-5', text, re.MULTILINE)
    assert re.search(r"^ +\+\d+\.\d\d  dense #\d: ", text, re.MULTILINE)


def test_runs_and_qrels_of_trec_are_scored_like_runs_and_gold_labels_of_our_own(run: Command, desk: Path) -> None:
    (desk / "run.trec").write_text(answer(run, "suggest", *ON, *WORDS, "--format", "trec"))
    assert (desk / "run.trec").read_text().startswith("1 Q0 bee 1 ")
    (desk / "gold.qrels").write_text(answer(run, "read", "docs.jsonl", "--labels", "labels.jsonl", "--format", "qrels"))
    assert (desk / "gold.qrels").read_text() == "1 0 bee 1\n2 0 bank 1\n3 0 bee 1\n3 0 rain 1\n"
    write("bare.jsonl", [{**document, "labels": []} for document in DOCUMENTS])
    bare = ("bare.jsonl", "--labels", "labels.jsonl", "--qrels", "gold.qrels", "--json")
    expected = json.loads(answer(run, "evaluate", *ON, *WORDS, "--json"))
    found = json.loads(answer(run, "evaluate", *bare, "--run", "run.trec"))
    assert found["measures"] == expected["measures"]
    compared = json.loads(answer(run, "compare", *bare, "--run", "run.trec", "--run", "wrong.jsonl"))
    assert compared["measures"]["P@1"]["a"] == expected["measures"]["P@1"]["value"]


def test_qrels_need_no_vocabulary(run: Command) -> None:
    write("gold.jsonl", [{"id": "1", "text": "Bees", "labels": ["b", "a"]}, {"id": "2", "text": "Wasps", "labels": []}])
    assert answer(run, "read", "gold.jsonl", "--format", "qrels").splitlines() == ["1 0 a 1", "1 0 b 1"]
    write("bare.jsonl", [{"id": "1", "text": "Bees"}])
    failed = run("read", "bare.jsonl", "--format", "qrels")
    assert (failed.code, "none of the documents has a gold label" in failed.err) == (2, True)


def test_the_measures_of_an_evaluation_and_of_a_comparison_are_chosen(run: Command, desk: Path) -> None:
    (desk / "run.jsonl").write_text(answer(run, "suggest", *ON, *WORDS, "--format", "jsonl"))
    names = "--measures", "P@2, R@150"
    found = json.loads(answer(run, "evaluate", *ON, "--run", "run.jsonl", *names, "--json"))
    assert found["measures"].keys() == {"P@2", "R@150", "coverage@10"}
    both = "--run", "run.jsonl", "--run", "wrong.jsonl", "--json"
    usual, chosen = (
        json.loads(answer(run, "compare", *ON, *both, *more))["measures"] for more in ((), (*names[:1], "P@1"))
    )
    assert chosen.keys() == {"P@1"}
    assert chosen["P@1"]["adjusted"] == chosen["P@1"]["p"] == usual["P@1"]["p"]  # one test needs no correction
    assert any(row["adjusted"]["randomisation"] > row["p"]["randomisation"] for row in usual.values())
    failed = run("evaluate", "nowhere.jsonl", "--labels", "labels.jsonl", "--measures", "precision@2")
    assert (failed.code, 'no measure "precision@2"; there are P@k' in failed.err) == (2, True)


def test_a_run_too_short_for_the_measures_is_said_to_be(
    run: Command, desk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write("labels.jsonl", [{"id": "bee", "names": ["Bees"]}, *({"id": f"{i}", "names": [f"L{i}"]} for i in range(9))])
    write("one.jsonl", [{"id": "1", "title": "bees", "labels": ["bee"]}])
    write("short.jsonl", [{"id": "1", "suggestions": [{"label": "bee", "score": 1}]}])
    answer(run, "evaluate", "one.jsonl", "--labels", "labels.jsonl", "--run", "short.jsonl")
    assert caplog.messages == [
        "short.jsonl holds at most 1 labels per document: measures beyond @1 count the rest as missed; "
        "suggest -k 100 writes enough",
        "1 document: too few for the intervals to say much; score 10 or more",
    ]


def test_run_files_hold_the_evidence_when_asked(run: Command) -> None:
    lines = answer(run, "suggest", *ON, *WORDS, "--format", "jsonl", "--explain").splitlines()
    first = json.loads(lines[0])["suggestions"][0]
    assert (first["label"], first["name"]) == ("bee", "Bees")
    assert [quote["text"] for quote in first["evidence"][0]["spans"]] == ["bees", "bee"]


def test_tsv_has_one_suggestion_a_line_whatever_the_ids_hold(run: Command, caplog: pytest.LogCaptureFixture) -> None:
    write("odd.jsonl", [{"id": "a\tb", "title": "bees"}, {"id": "a  b", "title": "bees"}])
    printed = answer(run, "suggest", "odd.jsonl", "--labels", "labels.jsonl", *WORDS, "--format", "tsv")
    rows = [line.split("\t") for line in printed.split("\n")]
    assert rows[0] == ["document", "rank", "id", "notation", "name", "score", "confidence", "none"]
    assert [row[:5] for row in rows[1:]] == [
        ["a b", "1", "bee", "", "Bees"], ["a  b", "1", "bee", "", "Bees"], [""],
    ]  # fmt: skip
    lost = 'tabs and line ends of 1 id, which TSV cannot hold, are spaces (first: "a\\tb"); JSON lines hold them'
    assert caplog.messages == [lost]


def test_a_workbook_of_suggestions_has_texts_and_numbers(desk: Path) -> None:
    write("odd.jsonl", [{"id": "=1+1", "title": "bees"}])
    command = ("suggest", "odd.jsonl", "--labels", "labels.jsonl", *WORDS, "--format", "xlsx", "--quiet")
    printed = CliRunner().invoke(app, command)
    page = openpyxl.load_workbook(io.BytesIO(printed.stdout_bytes)).active
    header, first, *_ = ([cell.value for cell in row] for row in page.iter_rows())
    assert header == ["document", "rank", "id", "notation", "name", "score", "confidence", "none"]
    assert first[:5] == ["=1+1", 1, "bee", None, "Bees"]
    assert (page["A2"].data_type, page["F2"].data_type) == ("s", "n")


def test_a_language_model_is_added_to_a_saved_tagger(run: Command, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = zero_shot.Config(stages=("exact_match",), weights=(1.0,))
    zero_shot.fit(Vocabulary.read("labels.jsonl"), config).save(desk / "model")
    write("both.jsonl", [{"id": "1", "title": "Bees bees and banks"}])
    on = ("suggest", "both.jsonl", "--model", "model", "--format", "tsv", "--quiet")

    def second(message: dict[str, Any]) -> str:
        return scores({1: 0, 2: 10})

    with serving(second) as stub:
        monkeypatch.setenv("TAGWRIGHT_LLM", stub.address)
        model = ("--set", f"llm.model={stub.model}", "--set", "llm.weight=5")
        first = [[line.split("\t")[2] for line in answer(run, *on, *more).splitlines()[1:]] for more in ((), model)]
        assert len(stub.bodies) == 1
    assert first == [["bee", "bank"], ["bank", "bee"]]
    for setting in ("stages=[]", "llm.weight=2"):
        refused = run(*on, "--set", setting)
        assert (refused.code, "--set can only add a language model" in refused.err) == (2, True)
    assert 'did you mean "llm.weight"?' in run(*on, "--set", "llm.wait=2").err


def test_a_saved_tagger_suggests_over_its_own_or_other_labels(run: Command, desk: Path) -> None:
    config = zero_shot.Config(stages=("exact_match",), weights=(1.0,))
    zero_shot.fit(Vocabulary.read("labels.jsonl"), config).save(desk / "model")
    assert "[bee]" in answer(run, "suggest", "docs.jsonl", "--model", "model")
    assert json.loads(answer(run, "evaluate", "docs.jsonl", "--model", "model", "--json"))["documents"] == 3
    write("others.jsonl", [{"id": "h", "name": "honey"}])
    others = ("suggest", "docs.jsonl", "--model", "model", "--labels", "others.jsonl", "--quiet")
    assert "honey  [h]" in answer(run, *others)


@pytest.mark.parametrize("option", [("--language", "fi"), ("--language", "Finnish"), ("--set", "language=fin"), ()])
def test_one_option_sets_the_language_of_names_and_endings_or_it_is_recognised(
    run: Command, desk: Path, option: tuple[str, ...]
) -> None:
    (desk / "labels.csv").write_text("id,label_en,label_fi\n1,libraries,kirjasto\n2,fishing,kalastus\n", "utf-8")
    write("finnish.jsonl", [{"id": "1", "title": "Mistä kirjastosta löydän tietoa?", "labels": ["1"]}])
    files = ("finnish.jsonl", "--labels", "labels.csv")
    table = answer(run, "evaluate", *files, *WORDS, *option, "--json", "--quiet")
    assert json.loads(table)["measures"]["P@1"]["value"] == 1


def test_quiet_leaves_out_the_hint_that_the_encoder_does_not_know_the_language(
    run: Command, tiny: str, caplog: pytest.LogCaptureFixture
) -> None:
    retriever._warned.clear()
    write("finnish.jsonl", [{"id": "1", "title": "Hunajan hinta", "text": "Kukasta kukkaan lentävät ahkerat."}])
    command = ("suggest", "finnish.jsonl", "--labels", "labels.jsonl", "--set", tiny)
    run(*command, "--quiet")
    assert "does not know the language" not in caplog.text
    retriever._warned.clear()
    run(*command)
    assert "does not know the language" in caplog.text


def test_evaluate_prints_every_measure_with_its_interval(run: Command) -> None:
    lines = answer(run, "evaluate", *RIGHT).splitlines()
    assert lines[0].strip() == "3 documents"
    assert "100.0 to 100.0" in next(line for line in lines if line.split()[:1] == ["P@1"])
    found = json.loads(answer(run, "evaluate", *RIGHT, "--train", "docs.jsonl", "--json"))
    assert found["documents"] == 3
    for measures in (found["measures"], *found["slices"].values()):  # the shape that programs rely on
        for name, measure in measures.items():
            assert name in {*STANDARD, *WITH_TRAIN, "coverage@10"}
            assert 0 <= measure["low"] <= measure["value"] <= measure["high"] <= 1
    assert {"P@1", "P@5", "F1@5", "nDCG@5", "R@10", "R@100", "PSP@1"} <= set(found["measures"])


def test_evaluate_writes_a_page_and_a_table_of_labels(run: Command, desk: Path) -> None:
    answer(run, "evaluate", *ON, "--run", "right.jsonl", "--report", "new/page.html", "--per-label", "labels.tsv")
    page = (desk / "new/page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "docs.jsonl" in page
    assert f"tagwright {__version__}" in page
    assert "tagwright evaluate docs.jsonl --labels labels.jsonl --run right.jsonl" in page
    answer(run, "evaluate", *ON, *WORDS, "--report", "page.html")
    page = (desk / "page.html").read_text()
    assert "exact_match 0.5, tfidf 1; combined by evidence" in page
    assert 'Bees <span class="words">(bees, bee, honey)</span>' in page
    rows = [line.split("\t") for line in (desk / "labels.tsv").read_text().splitlines()]
    assert ["bee", "Bees"] in [row[:2] for row in rows]


def test_gold_labels_that_the_vocabulary_lacks_do_not_stop_an_evaluation(
    run: Command, caplog: pytest.LogCaptureFixture
) -> None:
    stale = [{"id": "4", "title": "Tax", "labels": ["tax"]}, {"id": "5", "title": "Bees", "labels": ["bee", "tax"]}]
    write("stale.jsonl", [*DOCUMENTS, *stale])
    on = ("stale.jsonl", "--labels", "labels.jsonl", *WORDS, "--json")
    assert json.loads(answer(run, "evaluate", *on))["documents"] == 4  # all but "4", which has no other label
    assert caplog.messages == [
        '2 of 7 gold labels are not in the vocabulary and are left out: tax (first: document "4")',
        "1 of 5 documents have no other label and are not scored",
        "4 documents: too few for the intervals to say much; score 10 or more",
    ]
    caplog.clear()
    answer(run, "describe", "--candidates", *on, "--unknown-labels", "ignore")
    assert caplog.messages == ["1 of 5 documents have no other label and are not scored"]
    strict = run("evaluate", *on, "--unknown-labels", "error")
    assert strict.code == 2
    assert strict.err.startswith('tagwright: document "4" has the label "tax", which is not in the vocabulary')


def test_compare_takes_any_number_of_runs_and_says_what_the_test_is(run: Command, desk: Path) -> None:
    on = ("compare", *ON, *(part for name in ("right", "wrong", "right") for part in ("--run", f"{name}.jsonl")))
    out = answer(run, *on, "--report", "page.html", "--quiet")
    assert out.splitlines()[:3] == ["A  right.jsonl", "B  wrong.jsonl", "C  right.jsonl"]
    assert [heading in out for heading in ("A - B", "A - C", "B - C")] == [True] * 3
    assert ["P@1", "100.0", "66.7"] in [line.split()[:3] for line in out.splitlines()]
    page = (desk / "page.html").read_text()
    assert "wrong.jsonl" in page
    for text in (" ".join(out.split()), page):
        assert "randomisation test: how often the difference is as large" in text
    found = json.loads(answer(run, *on, "--json"))
    assert found["runs"] == {"a": "right.jsonl", "b": "wrong.jsonl", "c": "right.jsonl"}
    assert [(each["a"], each["b"]) for each in found["comparisons"]] == [("A", "B"), ("A", "C"), ("B", "C")]
    differences = found["comparisons"][0]["measures"]["P@1"]
    assert (differences["a"], differences["b"]) == (1, pytest.approx(2 / 3))


def test_tables_fit_a_terminal_of_80_columns(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")  # no colours in what is compared
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for command in (("compare", *RIGHT, "--run", "wrong.jsonl"), ("evaluate", *RIGHT, "--train", "docs.jsonl")):
        lines = answer(run, *command).splitlines()
        assert max(map(len, lines)) <= 80
        assert not any("…" in line for line in lines)


def test_a_terminal_is_told_what_the_default_is(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    told = "no --model, so the zero-shot method, which needs no training: stages and weights exact_match 0.5, tfidf 1"
    for command in (("suggest",), ("evaluate",), ("describe", "--candidates")):
        assert told in run(*command, *ON, *WORDS).err
        assert run(*command, *ON, *WORDS, "--quiet").err == ""


def test_the_version_is_printed(run: Command) -> None:
    assert answer(run, "--version") == f"tagwright {__version__}\n"


def test_candidates_counts_what_each_stage_reaches(run: Command) -> None:
    """Names: the first document holds "bees", the second "bank", the third "rain" but no bee. So 3 of 4 are found."""
    found = json.loads(answer(run, "describe", "--candidates", *ON, *WORDS, "--json"))
    assert found["documents"] == 3
    assert (found["stages"]["exact_match"]["R@10"], found["stages"]["exact_match"]["mean_size"]) == (0.75, 1)
    assert found["missed"] == [{"label": "bee", "times": 1}]
    assert found["combined"] == "exact_match 0.5, tfidf 1; combined by evidence"
    assert set(found["stages"]) == {"exact_match", "tfidf", "union"}


def test_a_table_that_is_piped_keeps_its_columns(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    text = answer(run, "describe", "--candidates", *ON, *WORDS)
    assert "…" not in text
    assert [line.split()[0] for line in text.splitlines() if "75.0" in line] == ["exact_match", "tfidf", "union"]


@pytest.mark.parametrize(
    ("method", "some", "none"),
    [
        ("zero_shot", {"stages", "weights", "encoder"}, {"training.epochs"}),
        (
            "svm",
            {"candidates", "seed", "cost"},
            {"tokens", "encoder", "training.validation", "training.epochs"},
        ),
        ("depl", {"variant", "apart", "encoder", "training.dropout", "training.warmup"}, {"pooling", "training"}),
        ("finetune", {"training.epochs", "temperature"}, {"encoder"}),
    ],
)
def test_options_are_printed_with_what_they_mean(method: str, some: set[str], none: set[str], run: Command) -> None:
    found = {each["name"]: each for each in json.loads(answer(run, "train", method, "--options", "--json"))["options"]}
    assert some <= set(found)
    assert none.isdisjoint(found)
    assert all(each["meaning"] for each in found.values())
    assert f"{next(iter(some))} = " in answer(run, "train", method, "--options")


def test_options_are_printed_with_those_of_the_paper(run: Command) -> None:
    said = answer(run, "train", "maclr", "--options", "--paper")
    assert "training.steps = none (not set); paper: 100000\n" in said
    assert "pseudo_labels = 3\n" in said
    found = {
        each["name"]: each["paper"]
        for each in json.loads(answer(run, "train", "rts", "--options", "--paper", "--json"))["options"]
    }
    assert (found["groups"], found["temperature"], found["training.learning_rate"]) == ("false", "0.05", "5e-05")
    assert "--paper is accepted by rts" in run("train", "auto", "--options", "--paper").err


def test_describe_says_what_the_data_hold(run: Command) -> None:
    text = answer(run, "describe", *ON)
    assert re.search(r"^ *documents +3 *$", text, re.MULTILINE)
    assert "zero_shot: yes" in text
    assert "To begin with: zero_shot\n  tagwright suggest DOCS... --labels FILE\n" in text


def test_describe_as_json(run: Command) -> None:
    found = json.loads(answer(run, "describe", "docs.jsonl", "--json"))
    assert found["facts"]["documents"] == 3
    assert found["advice"]["method"] == "zero_shot"


@pytest.mark.parametrize("command", ["suggest", "evaluate", "train"])
def test_no_encoder_is_fetched_offline(run: Command, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    import huggingface_hub

    def refused(*_: object, **__: object) -> list[str]:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(huggingface_hub, "model_info", refused)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    first = ["train", "rts", "--output", "model"] if command == "train" else [command]
    on = (*first, "docs.jsonl", "--labels", "labels.jsonl", "--set", "encoder=somebody/not-here")
    found = run(*on, "--offline")
    assert found.code == 2
    assert "nothing is fetched while offline" in found.err
    assert "the network was asked" not in found.err
    online = run(*on)
    assert "the network was asked" in online.err  # the option ends with its command


def test_the_help_leaves_more_than_half_of_the_width_to_the_text(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run("suggest", "--help").out.splitlines()
        texts = [line for line in lines if line.startswith(" " * 20)]
        assert len(texts) > 10
        assert max(map(len, lines)) <= width
        assert max(len(line.strip()) for line in texts) > width / 2
