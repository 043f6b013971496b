"""Encoding with `BiEncoder`: `python -m benchmarks encode [speed | quality | encoders] [--output FILE]`.

speed: how many times as fast as `SentenceTransformer.encode` with its defaults, on the processor as it is and kept to
AVX2 and to AVX-512 with VNNI, each in a process of its own. Documents cut to 256 tokens by all, and labels; all take
turns, and medians are compared.
quality: nDCG@5 of the zero-shot method, and of its encoder alone, in int8 and bfloat16 against float32, on dev
documents of five corpora, drawn with seed 0.
encoders: of each encoder by name, in a process of its own: seconds to load it, to the first tag of the zero-shot method
with arxiv's labels, nothing cached; documents and labels a second; the most memory of the process.
Needs the packaged MiniLM, for encoders multilingual too, and the corpora.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import corpora, figures, machine

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders import precision as number_formats
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.compiled import Computed
from tagwright.encoders.device import Precision, threads
from tagwright.encoders.model_folder import STATIC
from tagwright.encoders.precision import resolve
from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.significance import compare
from tagwright.stages.dense import Dense
from tagwright.tagger import Tagger, zero_shot
from tagwright.types import Document, Floats

THEIRS = "sentence-transformers"
ONE_THREAD = "speed, one thread"

FAST: tuple[Computed, ...] = ("int8", "bfloat16")

WAYS: Mapping[str, zero_shot.Config] = {
    "zero_shot": zero_shot.Config(),
    "encoder alone": zero_shot.Config(stages=("dense",), title_match=0.0),
}
"What the quality of a precision is measured with."

ENCODERS = ("none", "static", "minilm", "multilingual", "minilm+multilingual")
"The encoders of the zero-shot method, and none."


def main(arguments: list[str]) -> None:
    parser = corpora.parser("encode", __doc__, corpora.ALL)
    parser.add_argument("job", choices=("speed", "here", "quality", "encoders", *ENCODERS), nargs="?", default="speed")
    parser.add_argument(
        "--documents", type=int, help="of each corpus: 16 for speed, 200 for encoders, 1000 for quality"
    )
    parser.add_argument("--labels", type=int, default=150, help="speed: of mdn and of tib")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    if options.job == "here":  # in a process of its own, for `speed`
        print(json.dumps(here(options)))
    elif options.job in ENCODERS:  # the same, for `encoders`
        print(json.dumps(one_encoder(options.job, options.documents or 200, options.labels)))
    elif options.job == "encoders":
        for name in ENCODERS:
            asked = [argument for argument in arguments if argument != "encoders"]
            runs = []
            for _ in range(options.rounds):
                with tempfile.TemporaryDirectory() as cache:
                    empty = {"TAGWRIGHT_CACHE": cache}
                    if name == STATIC:  # which is distilled once
                        machine.in_own_process("encode", name, "--documents", "1", "--labels", "1", variables=empty)
                    runs.append(machine.in_own_process("encode", name, *asked, variables=empty))
            found = {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}
            write(options.output, "encoders", name, found)
            print(name, json.dumps(found), flush=True)
    elif options.job == "speed":
        for name, variables in machine.levels().items():
            asked = [argument for argument in arguments if argument != "speed"]
            found = machine.in_own_process("encode", "here", *asked, variables=variables)
            write(options.output, "speed" if threads() > 1 else ONE_THREAD, name, found)
            print(name, json.dumps(found), flush=True)
    else:
        for name in options.corpora:
            found = quality(name, options.documents or 1000)
            write(options.output, "quality", name, found)
            print(name, json.dumps(found), flush=True)


def here(options: argparse.Namespace) -> dict[str, Any]:
    """Ratios to the other side in each precision that this processor computes fast, of documents and of labels."""
    documents, labels, rounds = options.documents or 16, options.labels, options.rounds
    texts = {
        "documents": [d.text for name in options.corpora[:3] for d in corpora.documents(name, "dev", documents)],
        "labels": [label.text for name in options.corpora[:2] for label in corpora.labels(name)[:labels]],
    }
    encoders = {each: BiEncoder.load(precision=each, cached=False) for each in precisions()}
    found: dict[str, Any] = {"auto": resolve("auto"), "formats": number_formats.formats(), "rounds": rounds}
    return {**found, **{kind: times_as_fast(encoders, some, rounds) for kind, some in texts.items()}}


def one_encoder(name: str, documents: int, labels: int) -> dict[str, float]:
    """Seconds, documents and labels a second, and megabytes of a tagger with this encoder and an empty cache."""
    texts = corpora.documents("arxiv", "dev", documents + 1)
    names = [label.text for label in corpora.labels("kirja")[:labels]]
    words, arxiv = ("exact_match", "tfidf"), corpora.labels("arxiv")
    options: dict[str, Any] = {"stages": words} if name == "none" else {"encoder": name}
    config = zero_shot.Config(language="english", **options)
    load, _, loaded = machine.timed(lambda: tagging(zero_shot.fit(Vocabulary(["Bees"]), config), texts[:1]))
    more, _, tagger = machine.timed(lambda: tagging(loaded.with_labels(arxiv), texts[:1]))
    rest, _, _ = machine.timed(lambda: tagger.tag(texts[1:]))
    found = {"load": load, "first tag": load + more, "documents a second": documents / rest}
    if dense := [stage.encoder for stage in tagger.retrievers.values() if isinstance(stage, Dense)]:
        seconds, _, _ = machine.timed(lambda: [each.encode(names, role="document") for each in dense])
        found["labels a second"] = labels / seconds
    return {**found, "megabytes": machine.peak_mb()}


def tagging(tagger: Tagger, documents: Sequence[Document]) -> Tagger:
    """The tagger, after its first tag."""
    tagger.tag(documents)
    return tagger


def times_as_fast(encoders: Mapping[Precision, BiEncoder], texts: Sequence[str], rounds: int) -> dict[str, Any]:
    """All in turn, after a first run of each that is not counted."""
    model = encoders["float32"].model
    ways: dict[str, Callable[[], Floats]] = {THEIRS: partial(model.encode, list(texts), show_progress_bar=False)}
    ways |= {precision: partial(encoder.encode, texts) for precision, encoder in encoders.items()}
    vectors = {way: encode() for way, encode in ways.items()}
    runs = [{way: machine.timed(encode)[0] for way, encode in ways.items()} for _ in range(rounds)]
    ids = model.tokenizer(list(texts), truncation=True, max_length=encoders["float32"].max_length)["input_ids"]
    tokens = sum(map(len, ids))
    found: dict[str, Any] = {"texts": len(texts), "tokens": tokens}
    for way in ways:
        ratios, cosines = [run[THEIRS] / run[way] for run in runs], (vectors[way] * vectors[THEIRS]).sum(axis=1)
        found[way] = {
            "tokens_per_second": tokens / statistics.median(run[way] for run in runs),
            "times_as_fast": {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)},
            "cosine": {"least": float(cosines.min()), "mean": float(cosines.mean())},
        }
    return found


def quality(name: str, documents: int) -> dict[str, Any]:
    """nDCG@5 of each way in each precision, and what the test says of it against float32."""
    dev = corpora.scored(name, documents)
    gold, load = dev.gold, round(os.getloadavg()[0], 1)
    found: dict[str, Any] = {"documents": len(dev.documents), "labels": len(dev.labels), "load": load}
    for way, config in WAYS.items():
        taggers = {key: zero_shot.fit(dev.labels, replace(config, precision=key)) for key in precisions()}
        runs = {key: dev.without_self(tagger.tag(dev.documents, 11), 10) for key, tagger in taggers.items()}
        found[way] = {key: evaluate(run, gold, measures=("nDCG@5",)).to_json()["measures"] for key, run in runs.items()}
        for key in precisions()[1:]:
            compared = compare(runs[key], runs["float32"], gold, measures=("nDCG@5",))
            found[way][key]["against float32"] = compared.to_json()["measures"]
    return found


def precisions() -> list[Precision]:
    """float32, and those that this machine computes fast."""
    return ["float32", *(name for name in FAST if number_formats.formats().get(name))]


def write(output: Path, job: str, name: str, found: Mapping[str, Any]) -> None:
    """Set one part of the result file; what else is in it stays."""
    result = figures.read(output)
    part = result.setdefault(job, {})
    part |= {"machine": machine.describe(), "load": round(os.getloadavg()[0], 1), name: found}
    figures.write(output, result)
