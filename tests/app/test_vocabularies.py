"""What the command line makes of a whole vocabulary: printed as it was read, in the language of the documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.app.conftest import Command, write
from tests.whole_vocabulary import ENGLISH, SKOS, SWEDISH

from tagwright.data.vocabulary import Vocabulary

SWEDES = [
    {
        "id": str(row),
        "title": SWEDISH,
        "abstract": "De bor i skogen och på åkern, där de äter gräs.",
        "labels": ["Djur"],
    }
    for row in range(3)
]
WORDS = ("--set", 'stages=["exact_match", "tfidf"]')


@pytest.fixture(autouse=True)
def zoo(desk: Path) -> Path:
    (desk / "zoo.ttl").write_text(SKOS, encoding="utf-8")
    write("swedes.jsonl", SWEDES)
    write("english.jsonl", [{"id": "1", "title": ENGLISH, "abstract": "They live in the forest and eat the grass."}])
    return desk / "zoo.ttl"


@pytest.mark.parametrize("output", ["jsonl", "csv", "tsv", "skos"])
@pytest.mark.parametrize("language", ["sv", "en"])
def test_printed_labels_are_read_again(run: Command, zoo: Path, output: str, language: str) -> None:
    again = Path(f"again.{output.replace('skos', 'ttl')}")
    again.write_text(run("labels", "--labels", "zoo.ttl", "--language", language, "--format", output).out, "utf-8")
    chosen = Vocabulary.read(zoo, language=language)
    if output == "skos":
        assert list(Vocabulary.read(again, language=language)) == list(chosen)
    else:
        assert list(Vocabulary.read(again)) == list(chosen)


def test_the_labels_of_a_saved_tagger_are_printed_whole(run: Command, zoo: Path) -> None:
    assert run("train", "zero-shot", "--labels", "zoo.ttl", "--output", "M", "--language", "sv", *WORDS).code == 0
    Path("again.jsonl").write_text(run("labels", "--model", "M").out, "utf-8")
    assert list(Vocabulary.read("again.jsonl")) == list(Vocabulary.read(zoo, language="sv"))


def test_a_choice_among_names_in_several_languages_is_told_once(run: Command, zoo: Path) -> None:
    assert "names in" not in run("suggest", "swedes.jsonl", "--labels", "zoo.ttl", *WORDS).err
    told = [run("labels", "--labels", "zoo.ttl").err for _ in range(2)]
    assert told == ["tagwright: zoo.ttl: names in en, sv; English taken; --language chooses\n", ""]


def test_suggestions_are_in_the_language_of_the_documents(run: Command) -> None:
    swedish = run("suggest", "swedes.jsonl", "--labels", "zoo.ttl", "-k", "4", "--format", "text", *WORDS).out
    english = run("suggest", "english.jsonl", "--labels", "zoo.ttl", "-k", "4", "--format", "text", *WORDS).out
    assert all(name in swedish for name in ("Fåglar", "Ugglor", "Djur", "Ägg"))
    assert all(name in english for name in ("Birds", "Owls", "Animals", "Eggs"))


@pytest.mark.parametrize("asked", [("--language", "sv"), ("--quiet",)])
def test_nothing_is_told_where_a_language_is_asked_for(run: Command, zoo: Path, asked: tuple[str, ...]) -> None:
    zoo.rename("other.ttl")
    assert "names in" not in run("suggest", "swedes.jsonl", "--labels", "other.ttl", *WORDS, *asked).err


def test_describe_reads_names_and_descriptions_in_the_language_of_the_documents(run: Command) -> None:
    write("finns.jsonl", [{"id": "1", "title": "Linnut lentävät pesiltään metsään syömään marjoja."}])
    birds = {"id": "1", "names": {"en": ["Birds"], "fi": ["Linnut"]}, "descriptions": {"fi": ["Ne lentävät."]}}
    owls = {"id": "2", "names": {"en": ["Owls"], "fi": ["Pöllöt"]}, "descriptions": {"fi": ["Ne valvovat."]}}
    write("birds.jsonl", [birds, owls])
    facts = json.loads(run("describe", "finns.jsonl", "--labels", "birds.jsonl", "--json").out)["facts"]
    assert facts["labels without description"] == 0
    facts = json.loads(run("describe", "english.jsonl", "--labels", "birds.jsonl", "--json").out)["facts"]
    assert facts["labels without description"] == 2


def test_labels_need_a_file_or_a_tagger(run: Command) -> None:
    assert "give a saved tagger" in run("labels").err
    assert "give a saved tagger" in run("labels", "--labels", "zoo.ttl", "--model", "M").err
    assert "keywords are those of a saved tagger" in run("labels", "--labels", "zoo.ttl", "--keywords", "3").err


def test_the_advice_for_a_vocabulary_in_another_encoding_can_be_followed(run: Command, desk: Path) -> None:
    (desk / "zoo.csv").write_bytes("id;name\n1;Bären\n".encode("cp1252"))
    write("docs.jsonl", [{"id": "1", "title": "Bären"}])
    told = run("suggest", "docs.jsonl", "--labels", "zoo.csv", *WORDS)
    advice = "--encoding cp1252, with tagwright labels --labels zoo.csv --format csv, prints it so"
    assert (told.code, told.err.strip()) == (
        2,
        f"tagwright: zoo.csv:2: byte 0xe4 is not UTF-8; save the file as UTF-8; {advice}",
    )
    (desk / "utf8.csv").write_text(
        run("labels", "--labels", "zoo.csv", "--format", "csv", "--encoding", "cp1252").out, "utf-8"
    )
    assert "Bären" in run("suggest", "docs.jsonl", "--labels", "utf8.csv", *WORDS).out


def test_parents_of_a_vocabulary_by_notation_are_suggested_and_conditions(run: Command, desk: Path) -> None:
    (desk / "jel.csv").write_text("notation,label,broader\nQ,Economics,\nQ1,Macroeconomics,Q\n", "utf-8")
    write("docs.jsonl", [{"id": "1", "title": "On macroeconomics"}])
    options = ("--labels", "jel.csv", "--set", "stages=['exact_match']", "--format", "jsonl")
    for more in (("--hierarchy", "all"), ("--hierarchy", "all", "--only", "branch:Economics")):
        [line] = run("suggest", "docs.jsonl", *options, *more).out.splitlines()
        assert [each["name"] for each in json.loads(line)["suggestions"]] == ["Economics", "Macroeconomics"]


SEVERAL = [
    {"id": "1", "names": {"en": ["Birds"], "sv": ["Fåglar"]}},
    {"id": "2", "names": {"en": ["Eggs"]}, "broader": ["1"]},
]


@pytest.fixture(params=["file", "saved"])
def source(run: Command, request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The labels: read from a file, or with a saved tagger."""
    write("labels.jsonl", SEVERAL)
    write("one.jsonl", [{"id": "d", "title": "Birds and their eggs", "abstract": "They live in the forest."}])
    if request.param == "file":
        return ("--labels", "labels.jsonl", "--set", 'stages=["exact_match"]')
    made = ("--output", "M", "--language", "en", "--set", 'stages=["exact_match"]')
    assert run("train", "zero-shot", "--labels", "labels.jsonl", *made).code == 0
    return ("--model", "M")


def test_names_are_in_the_language_asked_for_and_others_are_marked(run: Command, source: tuple[str, ...]) -> None:
    swedish = (*source, "--names-in", "sv")
    outcome = run("suggest", "one.jsonl", *swedish, "--format", "text")
    assert "  Fåglar  [1]" in outcome.out
    assert "  Fåglar > Eggs (en)  [2]" in run("suggest", "one.jsonl", *swedish, "--paths", "--format", "text").out
    assert "tagwright: 1 of 2 labels have no name in sv; they keep another one" in outcome.err.splitlines()
    (line,) = run("suggest", "one.jsonl", *swedish, "--format", "jsonl").out.splitlines()
    found = {(each["name"], each["language"]) for each in json.loads(line)["suggestions"]}
    assert found == {("Fåglar", "sv"), ("Eggs", "en")}
    header, *rows = run("suggest", "one.jsonl", *swedish, "--format", "tsv").out.splitlines()
    assert header.split("\t")[-1] == "language"
    assert {(row.split("\t")[4], row.split("\t")[-1]) for row in rows} == found
    english = run("suggest", "one.jsonl", *source, "--names-in", "en")
    assert "(en)" not in english.out
    assert "no name" not in english.err


def test_without_a_language_of_names_nothing_is_marked(run: Command, source: tuple[str, ...]) -> None:
    (line,) = run("suggest", "one.jsonl", *source, "--format", "jsonl").out.splitlines()
    assert all("language" not in each for each in json.loads(line)["suggestions"])
    assert run("suggest", "one.jsonl", *source, "--format", "tsv").out.splitlines()[0].endswith("\tconfidence\tnone")


def test_a_language_in_which_no_name_is_is_refused(run: Command, source: tuple[str, ...]) -> None:
    outcome = run("suggest", "one.jsonl", *source, "--names-in", "fi")
    place = source[1]
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.endswith(f'tagwright: {place}: no names in the language "fi"; the languages are en, sv\n')


def test_names_whose_language_nothing_says_cannot_be_asked_for(run: Command) -> None:
    write("plain.jsonl", [{"id": "1", "names": ["Birds"]}])
    given = ("--labels", "plain.jsonl", "--names-in", "sv", "--set", 'stages=["exact_match"]')
    outcome = run("suggest", "docs.jsonl", *given)
    said = "plain.jsonl: does not say the languages of its names; leave out --names-in sv"
    assert (outcome.code, outcome.err.splitlines()[-1]) == (2, f"tagwright: {said}")


def test_language_with_a_saved_tagger_alone_is_an_error_that_names_the_option(run: Command) -> None:
    write("labels.jsonl", SEVERAL)
    write("one.jsonl", [{"id": "d", "title": "Birds and their eggs", "abstract": "They live in the forest."}])
    made = ("--output", "M", "--language", "en", "--set", 'stages=["exact_match"]')
    assert run("train", "zero-shot", "--labels", "labels.jsonl", *made).code == 0
    for language in ("auto", "none"):  # which change nothing
        assert run("suggest", "one.jsonl", "--model", "M", "--language", language).code == 0
    assert "Fåglar" in run("suggest", "one.jsonl", "--model", "M", "--names-in", "swedish").out
    outcome = run("suggest", "one.jsonl", "--model", "M", "--language", "sv")
    said = "--language sv has no effect on a saved tagger alone (--model); for its names, --names-in"
    assert (outcome.code, outcome.err) == (2, f"tagwright: {said}\n")
