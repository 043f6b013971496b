"""A text has the same answer whatever is tagged beside it: alone, among others, in any order, in any language."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.saved import rewrite
from tests.saved_taggers import ASKED, FOLDER, WORDS
from tests.tiny import tiny_encoder

import tagwright
from tagwright.auto.combination import describe_corpus, pools, with_more_stages
from tagwright.auto.ranker import CombinerOptions
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ModelError
from tagwright.tagger import Tagger
from tagwright.tagger.zero_shot import Config, fit
from tagwright.types import Document, Label, shortest

FINNISH = "Kirjat ja kalastus: tietoa kirjoista, joita kirjastossa luetaan paljon."
SWEDISH = "Böcker och fiske: allt om fiske på svenska för människor som läser mycket."
ENGLISH = "Books and numbers: all that people read about fishing in the library."
GERMAN = "Bücher und Zahlen: was Menschen in der Bibliothek über das Angeln lesen."
UNCLEAR = "1984"

NAMES = {"1": ("books", "kirjat", "böcker"), "2": ("numbers", "luvut", "tal"), "3": ("fishing", "kalastus", "fiske")}
"English, Finnish and Swedish names."

Answer: TypeAlias = list[tuple[str, float, float | None]]

KINDS = ("names", "static", "bert", "svm", "auto")


def texts() -> list[str]:
    rng = np.random.default_rng(0)
    words = [word for each in WORDS.values() for word in each.split()]
    drawn = (" ".join(rng.choice(words, int(rng.integers(1, 40)))) for _ in range(22))
    return [*drawn, *ASKED, "", FINNISH, ENGLISH, "wing", UNCLEAR]


TEXTS = texts()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tagger]:
    folder = tmp_path_factory.mktemp("saved")
    shutil.unpack_archive(sorted(FOLDER.glob("*.zip"))[-1], folder)
    return {kind: tagwright.load(folder / kind) for kind in KINDS}


def answers(tagger: Tagger, documents: Sequence[str]) -> list[Answer]:
    return [[(one.id, one.score, one.confidence) for one in row] for row in tagger.suggest(documents, k=5)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_any_part_of_a_batch_in_any_order_has_the_same_answers(saved: dict[str, Tagger], kind: str, seed: int) -> None:
    rng, whole = np.random.default_rng(seed), answers(saved[kind], TEXTS)
    chosen = rng.integers(len(TEXTS), size=int(rng.integers(1, 31))).tolist()
    assert answers(saved[kind], [TEXTS[place] for place in chosen]) == [whole[place] for place in chosen]


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_alone_has_the_same_answer_as_among_thirty(saved: dict[str, Tagger], kind: str) -> None:
    together = answers(saved[kind], TEXTS)
    assert [answers(saved[kind], [text])[0] for text in TEXTS] == together
    run = saved[kind].tag(TEXTS, k=5)
    ids = saved[kind].vocabulary.ids
    assert [[ids[label] for label in row.tolist()] for row, _ in run] == [
        [id_ for id_, _, _ in row] for row in together
    ]
    assert shortest(run.scores) == [score for row in together for _, score, _ in row]


def several() -> Vocabulary:
    codes = ("en", "fi", "sv")
    return Vocabulary(
        Label(id_, names, languages=tuple(zip(codes, names, strict=True))) for id_, names in NAMES.items()
    )


WORDS_ONLY = Config(stages=("exact_match", "tfidf"))


def fit_by_language(labels: Vocabulary, config: Config, *documents: Document) -> Tagger:
    return fit(labels, config, documents, by_language=True)


@pytest.mark.parametrize(
    ("text", "found"), [(FINNISH, ["1", "3"]), (SWEDISH, ["3", "1"]), (ENGLISH, ["1", "2", "3"]), ("tal", ["2"])]
)
def test_each_document_is_searched_for_names_in_its_own_language(text: str, found: list[str]) -> None:
    tagger = fit_by_language(several(), WORDS_ONLY, Document("", FINNISH))
    assert [each.id for each in tagger.suggest(text)] == found


def test_names_in_another_language_are_not_searched() -> None:
    """Swedish "tal" (numbers) is no Finnish word; English names are searched everywhere."""
    tagger = fit_by_language(several(), WORDS_ONLY, Document("", FINNISH))
    assert [each.id for each in tagger.suggest(f"{FINNISH} tal")] == ["1", "3"]
    assert {each.id for each in tagger.suggest(f"{FINNISH} numbers")} == {"1", "2", "3"}


def test_a_text_with_paragraphs_in_several_languages_is_searched_for_names_in_all() -> None:
    """Swedish "tal" (numbers) counts beside a Swedish paragraph, and not as the last word of a Finnish text."""
    tagger = fit_by_language(several(), WORDS_ONLY, Document("", FINNISH))
    mixed = Document("", FINNISH, "Allt om ett tal och fiske på svenska.")
    finnish = Document("", FINNISH, "Kalastus on tal.")
    found = [{each.id for each in row} for row in tagger.suggest([mixed, finnish])]
    assert found == [{"1", "2", "3"}, {"1", "3"}]


@settings(max_examples=30, deadline=None)
@given(st.permutations([FINNISH, SWEDISH, ENGLISH, GERMAN, UNCLEAR, "", "tal"]), st.integers(1, 7))
def test_languages_beside_it_change_no_answer(mixed: list[str], size: int) -> None:
    tagger = fit_by_language(several(), WORDS_ONLY, Document("", mixed[0]))
    other = fit_by_language(several(), WORDS_ONLY, Document("", mixed[-1]))
    alone = [answers(other, [text])[0] for text in mixed[:size]]
    assert answers(tagger, mixed[:size]) == alone
    explained = tagger.explain(mixed[:size])
    assert [[each.id for each in row] for row in explained] == [[id_ for id_, _, _ in row] for row in alone]
    assert all(each.evidence for row in explained for each in row)


def test_all_stages_read_each_document_in_its_own_language(tmp_path: Path) -> None:
    """With meaning and titles, whose weight follows the language of each text."""
    pytest.importorskip("torch")
    config = Config(encoder=str(tiny_encoder(tmp_path / "tiny")), precision="float32")
    mixed = [FINNISH, ENGLISH, SWEDISH, UNCLEAR, ENGLISH, FINNISH]
    tagger = fit_by_language(several(), config, Document("", SWEDISH))
    assert set(tagger.stages) == {"exact_match", "tfidf", "dense", "title_match"}
    found = answers(tagger, mixed)
    assert found == [answers(tagger, [text])[0] for text in mixed]
    tagger.save(tmp_path / "saved")
    assert answers(tagwright.load(tmp_path / "saved"), mixed) == found


def test_saved_stages_are_those_of_all_languages_with_one_encoder(tmp_path: Path) -> None:
    """Only Swedish texts came; the first of others are answered by what is saved, and labels keep their vectors."""
    pytest.importorskip("torch")
    config = Config(encoder=str(tiny_encoder(tmp_path / "tiny")), precision="float32")
    tagger, texts = fit_by_language(several(), config, Document("", SWEDISH)), [FINNISH, SWEDISH, UNCLEAR, ENGLISH]
    tagger.save(tmp_path / "saved")
    saved = tmp_path / "saved" / "retrievers" / "dense" / "languages"
    assert {each.name for each in saved.iterdir() if each.is_dir()} == {"sv", "fi", "en", "all"}
    assert [each.name for each in saved.iterdir() if (each / "encoder").exists()] == ["sv"]
    loaded = tagwright.load(tmp_path / "saved")
    assert answers(loaded, texts) == answers(tagger, texts)
    assert len({id(loaded.retrievers["dense"].of(code).encoder) for code in ("sv", "fi", "en", "")}) == 1  # type: ignore[attr-defined]
    loaded.save(tmp_path / "again")
    assert answers(tagwright.load(tmp_path / "again"), texts) == answers(tagger, texts)


@pytest.mark.parametrize("languages", [None, [], {}, {"fi": "fi"}])
def test_saved_stages_that_name_no_languages_are_damaged(languages: object, tmp_path: Path) -> None:
    fit_by_language(several(), WORDS_ONLY, Document("", FINNISH)).save(tmp_path / "saved")
    rewrite(tmp_path / "saved", lambda manifest: manifest["retrievers"]["exact_match"].update(languages=languages))
    with pytest.raises(ModelError, match="is damaged"):
        tagwright.load(tmp_path / "saved")


def test_other_labels_are_searched_in_each_language_too() -> None:
    more = [Label("4", ("birds", "linnut"), languages=(("en", "birds"), ("fi", "linnut")))]
    tagger = fit_by_language(several(), WORDS_ONLY, Document("", SWEDISH)).with_labels([*several(), *more])
    made = fit_by_language(Vocabulary([*several(), *more]), WORDS_ONLY)
    texts = [f"{FINNISH} Linnut.", f"{ENGLISH} Linnut.", SWEDISH, UNCLEAR]
    assert answers(tagger, texts) == answers(made, texts)
    assert "4" in {id_ for id_, _, _ in answers(tagger, texts)[0]}
    assert "4" not in {id_ for id_, _, _ in answers(tagger, texts)[1]}


def test_chosen_names_are_searched_in_every_text(tmp_path: Path) -> None:
    chosen = Vocabulary(Label(each.id, each.names[:1], languages=each.languages) for each in several())
    tagger = fit_by_language(chosen, WORDS_ONLY)
    assert (tagger.languages, [id_ for id_, _, _ in answers(tagger, [f"{FINNISH} numbers"])[0]]) == ([], ["2"])


def test_a_combiner_learns_from_stages_by_language_as_from_others(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    config = Config(encoder=str(tiny_encoder(tmp_path / "tiny")), precision="float32")
    tagger = fit_by_language(several(), config, Document("", FINNISH))
    richer = with_more_stages(tagger)
    assert richer.stages.keys() - tagger.stages.keys() == {"exact_match_in_abstract", "tfidf_in_text"}
    documents = [Document(str(place), text) for place, text in enumerate([FINNISH, SWEDISH, ENGLISH] * 4)]
    described = describe_corpus(richer, documents, CombinerOptions())
    assert described.options.vectors == "dense"
    (pool,) = pools(richer, documents)
    vectors = richer.retrievers["dense"].read([Document("", SWEDISH)]).vectors
    assert np.array_equal(pool.readings["dense"].vectors[1::3], np.repeat(vectors, 4, axis=0))


def test_a_document_helps_to_recognise_few_names_but_not_for_others() -> None:
    """These names alone are taken for English; "kalastusta" is found by Finnish stems."""
    names = Vocabulary([Label("a", ("auto",)), Label("b", ("kalastus",))])
    tagger = fit_by_language(names, WORDS_ONLY, Document("", ENGLISH))
    assert answers(tagger, [ENGLISH, FINNISH, GERMAN])[1] == answers(tagger, [FINNISH])[0]
