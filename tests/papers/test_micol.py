from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tests.papers.topics import TOPICS, trained

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError, InputError
from tagwright.graph.network import Graph
from tagwright.papers import micol
from tagwright.stages.lexical import Lexical
from tagwright.stages.reranker import CrossEncoderReranker
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.types import Document, Label, Pair

# Half of the documents of a topic name it, the others use its words; those of one topic share an author, and so learn
# that the words go with the name. Only the description makes a label a candidate of those that do not name it.
LABELS = Vocabulary([Label(name, (name,), "described somehow") for name in TOPICS])


def _document(i: int) -> Document:
    name = list(TOPICS)[i % 3]
    words = (name,) if i % 2 else TOPICS[name]
    text = " ".join(np.random.default_rng(i).choice(words, 12))
    metadata = {"author": (name, "everybody" if i % 2 else "anybody"), "venue": ("one",)}
    return Document(f"d{i}", abstract=f"{text} described", metadata=metadata, labels=(name,))


DOCUMENTS = [_document(i) for i in range(36)]
UNNAMED = DOCUMENTS[::2]
GOLD = [LABELS.index[document.labels[0]] for document in UNNAMED]
QUICK = micol.Config(
    meta_path='P-"author"-P',
    pairs="metadata",
    count=360,
    training=TrainingConfig(batch=36, epochs=6, learning_rate=0.02, validation=0.0),
)
KEYWORDS = [replace(document, metadata={**document.metadata, "keyword": document.labels}) for document in DOCUMENTS]


def first_labels(tagger: Tagger, documents: Sequence[Document] = UNNAMED) -> list[int]:
    return [int(labels[0]) for labels, _ in tagger.tag(documents)]


def right(tagger: Tagger) -> float:
    return float(np.mean(np.array(first_labels(tagger)) == GOLD))


def untrained(config: micol.Config) -> Tagger:
    finders = micol.retrievers(DOCUMENTS, LABELS, config)
    return micol.rerank(LABELS, finders, BiEncoder.load(config.encoder, cached=False), config)


@pytest.mark.parametrize(
    ("kind", "rate"), [("static", 0.02), pytest.param("transformer", 0.003, marks=pytest.mark.slow)]
)
def test_a_label_is_found_by_words_that_only_metadata_connect_with_it(
    kind: str, rate: float, encoder: dict[str, str]
) -> None:
    config = trained(replace(QUICK, encoder=encoder[kind]), learning_rate=rate)
    assert right(untrained(config)) < 0.8
    assert right(micol.fit(DOCUMENTS, LABELS, config)) > 0.9


@pytest.mark.parametrize(("documents", "share"), [(DOCUMENTS, 1 / 2), (KEYWORDS, 2 / 3)], ids=["names", "keywords"])
def test_by_default_short_texts_are_learnt_from_too(
    documents: list[Document], share: float, encoder: dict[str, str]
) -> None:
    config = replace(QUICK, encoder=encoder["static"], pairs="mixed")
    assert right(micol.fit(documents, LABELS, config)) > 0.9
    short = [pair for pair in source(documents, config) if "described" not in pair.positive]
    assert len(short) == 360 * share
    assert {pair.positive for pair in short} == set(TOPICS)


def test_mixed_pairs_do_without_short_texts_that_are_not_there(caplog: pytest.LogCaptureFixture) -> None:
    nameless = [replace(document, title="", abstract=f"described {i}") for i, document in enumerate(DOCUMENTS)]
    pairs = source(nameless, replace(QUICK, encoder="static", pairs="mixed"))
    assert pairs
    assert all("described" in pair.positive for pair in pairs)
    assert "without values" in caplog.text
    assert "without names" in caplog.text


def source(documents: Sequence[Document], config: micol.Config) -> list[Pair]:
    finders = micol.retrievers(documents, LABELS, config)
    config, graph = micol.with_graph(documents, LABELS, config, finders)
    return list(micol.pair_source(documents, LABELS, config, finders, graph)(0))


@pytest.mark.parametrize("kind", ["metadata", "mixed", "values", "names", "rts"])
@pytest.mark.parametrize("architecture", ["bi", "cross"])
def test_every_kind_of_pairs_gives_as_many_as_asked_for(
    kind: micol.Pairs, architecture: Literal["bi", "cross"]
) -> None:
    config = replace(QUICK, pairs=kind, encoder="minilm", architecture=architecture, count=30)
    titled = [replace(document, title=f"title {i}") for i, document in enumerate(KEYWORDS)]
    pairs = source(titled, config)
    assert len(pairs) == 30
    assert all(pair.negative for pair in pairs) == (architecture == "cross")


def test_auto_takes_the_path_that_joins_documents_of_one_label() -> None:
    # By name, which is all that is known of the labels here. Of the named documents of a topic each has all others as
    # neighbours by two authors, and no other document; by one author also those without a name; by venue every one.
    config, labels = replace(QUICK, meta_path="auto", encoder="static"), Vocabulary([Label(n, (n,)) for n in TOPICS])
    finders = micol.retrievers(DOCUMENTS, labels, config)
    named = [path for *_, path in micol.choose_path(DOCUMENTS, labels, Graph.of(DOCUMENTS), finders)]
    assert (named[0], named[-1]) == ("P-(A,A)-P", "P-V-P")
    topic = {document.title_and_abstract: document.labels for document in DOCUMENTS}
    config, graph = micol.with_graph(DOCUMENTS, labels, config, finders)
    pairs = micol.pair_source(DOCUMENTS, labels, config, finders, graph)(0)
    assert all(topic[pair.anchor] == topic[pair.positive] for pair in pairs)


def test_several_paths_are_drawn_from_alike() -> None:
    documents = [
        Document(str(i), abstract=f"described {i}", metadata={"author": (f"{i % 2}",), "venue": (f"{i // 2}",)})
        for i in range(4)
    ]
    config = replace(QUICK, meta_path="P-A-P + P-V-P", encoder="static", count=40)
    pairs = [(int(pair.anchor[-1]), int(pair.positive[-1])) for pair in source(documents, config)]
    assert sum(a % 2 == b % 2 for a, b in pairs) == sum(a // 2 == b // 2 for a, b in pairs) == 20


def test_a_cross_encoder_takes_the_place_of_the_bi_encoder(encoder: dict[str, str], tmp_path: Path) -> None:
    config = trained(replace(QUICK, encoder=encoder["transformer"], architecture="cross", count=36, budget=2), epochs=1)
    tagger = micol.fit(DOCUMENTS, LABELS, config)
    assert isinstance(tagger.stages["encoder"], CrossEncoderReranker)
    assert {len(labels) for labels, _ in tagger.tag(UNNAMED)} == {2}
    tagger.save(tmp_path / "model")
    assert first_labels(Tagger.load(tmp_path / "model")) == first_labels(tagger)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"architecture": "cross", "encoder": "static"}, "which a static encoder cannot"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        micol.Config(**options)  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused_before_the_encoder_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwright.training.encoder.load", lambda *_: pytest.fail("loaded"))
    config = replace(QUICK, encoder="static")
    bare = [replace(document, metadata={}) for document in DOCUMENTS]
    with pytest.raises(ConfigError, match="no metadata, so no meta-path is possible"):
        micol.fit(bare, LABELS, config)
    with pytest.raises(InputError, match="no usual meta-path joins two of the 36 documents, which have no metadata"):
        micol.fit(bare, LABELS, replace(config, meta_path="auto"))
    with pytest.raises(ConfigError, match=r'no field starts with "B"; the documents have author, venue, which allow'):
        micol.fit(DOCUMENTS, LABELS, replace(config, meta_path="P-A-P + P-B-P"))
    lonely = [replace(d, metadata={"author": (d.id,), "venue": ("one",)}) for d in DOCUMENTS]
    with pytest.raises(InputError, match=r'"P-A-P" joins no two of the 36 documents; these do join some: P-V-P'):
        micol.fit(lonely, LABELS, replace(config, meta_path="P-A-P"))
    with pytest.raises(ConfigError, match='none of 36 documents has both text and metadata "keyword"'):
        micol.fit(DOCUMENTS, LABELS, replace(config, pairs="values"))


def test_auto_reads_with_a_transformer_where_it_is_a_cross_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert micol.Config().encoder_name == "minilm"
    assert micol.Config(encoder="auto").encoder_name == "static"
    assert micol.Config(encoder="auto", architecture="cross").encoder_name == "minilm"


def test_bm25_is_calibrated_on_a_sample_and_not_on_the_first_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first twelve documents share no word with a label: of them alone no threshold can be made."""
    monkeypatch.setattr(micol, "CALIBRATED_ON", 12)
    silent = [Document(f"s{i}", "xyzzy") for i in range(12)]
    lexical = micol.retrievers([*silent, *DOCUMENTS], LABELS, replace(QUICK, candidates=1.0))["lexical"]
    assert isinstance(lexical, Lexical)
    assert lexical.options.threshold is not None


@pytest.mark.parametrize(("label_text", "found"), [("both", {0}), ("described", set())])
def test_bm25_can_read_labels_as_the_paper_does(label_text: Literal["both", "described"], found: set[int]) -> None:
    """Footnote 4: the preferred name and the description; "apoidea" is another name."""
    labels = Vocabulary([Label("1", ("Bees", "Apoidea"), "Flying insects."), Label("2", ("Taxes",))])
    documents = [Document("a", "taxes"), Document("b", "insects")]
    config = replace(QUICK, candidates=1.0, label_text=label_text)
    lexical = micol.retrievers(documents, labels, config)["lexical"]
    assert set(lexical([Document("c", "apoidea")]).labels.tolist()) == found
