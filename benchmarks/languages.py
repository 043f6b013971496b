"""Texts in one language, names of labels in another: `python -m benchmarks languages`.

Records: kirja (Finnish) and tib (German, English), with the labels that have names in both languages. Made-up texts:
sentences that list languages, countries and currencies, by their names in CLDR (the package Babel).
"""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks import corpora, figures

from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.metrics import mark_labelled
from tagwright.evaluation.scores import evaluate
from tagwright.tagger import zero_shot
from tagwright.text.language import language_of, parse
from tagwright.types import Document, Label

SENTENCES = {
    "en": "The report is about {}, {} and {}.",
    "de": "Der Bericht behandelt {}, {} und {}.",
    "es": "El informe trata de {}, {} y {}.",
    "fi": "Raportti käsittelee näitä aiheita: {}, {} ja {}.",
    "fr": "Le rapport traite des sujets suivants : {}, {} et {}.",
    "sv": "Rapporten handlar om {}, {} och {}.",
}
ENCODERS = ("minilm", "multilingual", "minilm+multilingual")
MOST = 300
"Documents of a row."

Names = Mapping[str, Mapping[str, str]]
"Label -> code of a language -> its name."


def main(arguments: list[str]) -> None:
    options = corpora.parser("languages", __doc__, ()).parse_args(arguments)
    corpora.require(("kirja", "tib"))
    result: dict[str, Any] = {}
    for source, names, texts in (("kirja", *kirja()), ("tib", *tib()), ("made up", *made_up())):
        for language, documents in texts.items():
            spoken = {code for each in names.values() for code in each}
            for other in sorted(spoken if language == "en" else {language, "en"}):
                row = f"{source}: {language} texts, {other} names"
                result[row] = measured(names, documents, other)
                print(row, result[row], flush=True)
                figures.write(options.output, result)


def measured(names: Names, documents: Sequence[Document], language: str) -> dict[str, Any]:
    """R@100 in percent of the default with each encoder, by names in one language only."""
    labels = Vocabulary(Label(id_, (of[language],)) for id_, of in names.items())
    gold = labels.gold(documents, unknown="ignore")
    kept = [place for place, is_kept in enumerate(mark_labelled(gold)) if is_kept][:MOST]
    row: dict[str, Any] = {"documents": len(kept), "labels": len(labels)}
    for encoder in ENCODERS:
        run = zero_shot.fit(labels, zero_shot.Config(encoder=encoder)).tag([documents[i] for i in kept], 100)
        row[encoder] = round(100 * evaluate(run, gold.take(kept), measures=["R@100"])["R@100"].value, 1)
    return row


def kirja() -> tuple[Names, dict[str, Sequence[Document]]]:
    with gzip.open(corpora.folder("kirja") / "names.tsv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    names = {row["id"]: {"fi": row["fi"], "en": row["en"]} for row in rows if row["fi"] and row["en"]}
    return names, {"fi": corpora.documents("kirja", "dev")}


def tib() -> tuple[Names, dict[str, Sequence[Document]]]:
    """Labels with two names have the English one first."""
    pairs = {label.id: label.names for label in corpora.labels("tib") if len(label.names) == 2}
    documents = corpora.documents("tib", "dev")
    texts: dict[str, Sequence[Document]] = {
        code: [d for d in documents if language_of(d.title_and_abstract, {"de", "en"}) == code] for code in ("de", "en")
    }
    return {id_: dict(zip(("en", "de"), both, strict=True)) for id_, both in pairs.items()}, texts


def made_up() -> tuple[Names, dict[str, Sequence[Document]]]:
    """Three labels a text, whose names are not the English ones."""
    from babel import Locale

    kinds = {
        code: (each.languages, each.territories, each.currencies)
        for code, each in zip(SENTENCES, map(Locale, SENTENCES), strict=True)
    }
    keys = [
        (kind, key) for kind in range(3) for key in sorted(set.intersection(*(set(of[kind]) for of in kinds.values())))
    ]
    names = {f"{kind}:{key}": {code: of[kind][key] for code, of in kinds.items()} for kind, key in keys}
    other = [id_ for id_, of in names.items() if sum(name == of["en"] for name in of.values()) == 1]
    rng = random.Random(0)
    drawn = [rng.sample(other, 3) for _ in range(MOST)]
    return names, {code: list(_texts(drawn, names, code)) for code in SENTENCES}


def _texts(drawn: Sequence[Sequence[str]], names: Names, code: str) -> Iterator[Document]:
    for place, ids in enumerate(drawn):
        yield Document(str(place), SENTENCES[code].format(*(names[id_][code] for id_ in ids)), labels=tuple(ids))


def table() -> Iterator[str]:
    """R@100 with each encoder and both, by the language of texts and that of names; English texts come last."""
    rows = figures.read(figures.RESULTS / "languages.json")
    columns = ("labels", "names in it", "English names", "English texts, names in it")
    yield f"| R@100, `minilm` / `multilingual` / both | {' | '.join(columns)} |"
    yield "| --- | --- | --- | --- | --- |"
    for source, language in [
        ("kirja", "fi"),
        ("tib", "de"),
        *(("made up", code) for code in SENTENCES if code != "en"),
    ]:
        ways = [(language, language), (language, "en"), ("en", language)]
        found = [rows.get(f"{source}: {texts} texts, {names} names", {}) for texts, names in ways]
        cells = [" / ".join(f"{of[encoder]:.1f}" for encoder in ENCODERS if encoder in of) for of in found]
        yield f"| {source}: {parse(language)} | {found[0]['labels']:,} | {' | '.join(cells)} |"


TABLES = {"languages": table}
