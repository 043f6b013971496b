"""Arrow batches come out as `tagwright batch` tags their documents, in engines that pass them on, too."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.batch.conftest import NAMES
from tests.batch.test_batch import here, tag

from tagwright import zero_shot
from tagwright.batch import ArrowTagger
from tagwright.batch.output_folder import BatchOptions
from tagwright.encoders.cache import keeps_documents
from tagwright.errors import ConfigError, ModelError
from tagwright.tagger import Tagger

pa = pytest.importorskip("pyarrow")

COUNT = 600


def texts(count: int) -> list[str]:
    rng = random.Random(7)
    return [" ".join(rng.choices([*NAMES, "and", "of", "the"], k=6)) for _ in range(count)]


def table(count: int = 6, **columns: str) -> Any:
    names = {"id": "id", "text": "text"} | columns
    return pa.table(
        {names["id"]: [f"d{i}" for i in range(count)], names["text"]: texts(count), "other": [b"x"] * count}
    )


def test_documents_have_the_suggestions_of_the_batch(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, options = table(COUNT), BatchOptions(shard_size=500)
    lines = (json.dumps({"id": row["id"], "text": row["text"]}) for row in whole.to_pylist())
    (tmp_path / "documents.jsonl").write_text("\n".join(lines) + "\n")
    here(monkeypatch, model, options)
    tag(tmp_path / "documents.jsonl", model, tmp_path / "out", options)
    tagger = ArrowTagger(model)
    rows = [row for batch in whole.to_batches(max_chunksize=300) for row in tagger(batch).to_pylist()]
    shards = sorted((tmp_path / "out").glob("shard-*.jsonl"))
    expected = [json.loads(line) for shard in shards for line in shard.read_text().splitlines()]
    assert len(rows) == len(expected) == COUNT
    for row, line in zip(rows, expected, strict=True):
        assert (row["id"], row["labels"]) == (line["id"], [each["label"] for each in line["suggestions"]])
        assert row["scores"] == pytest.approx([each["score"] for each in line["suggestions"]], rel=1e-4)
        assert row["error"] is None
        assert row["confidences"] == pytest.approx([each["confidence"] for each in line["suggestions"]], abs=1e-4)
    assert sum(len(row["labels"]) for row in rows) > COUNT


def test_tables_stay_tables_and_columns_may_be_named(model: Path) -> None:
    tagger = ArrowTagger(model, {"id": "key", "text": "body"}, k=1)
    made = tagger(table(id="key", text="body"))
    assert isinstance(made, pa.Table)
    assert made.schema == tagger.schema
    assert made.to_pylist() == ArrowTagger(model, k=1)(table()).to_pylist()
    assert {len(row["labels"]) for row in made.to_pylist()} == {1}
    assert tagger(table(id="key", text="body").slice(0, 0)).num_rows == 0


def test_a_row_that_cannot_be_read_or_tagged_says_why(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    best = Tagger.best

    def failing(self: Tagger, documents: Any, options: Any) -> Any:
        if any(each.id == "d3" for each in documents):
            raise ValueError("bad luck")
        return best(self, documents, options)

    monkeypatch.setattr(Tagger, "best", failing)
    rows = (
        table(4).set_column(0, "id", pa.array(["d0", None, "d2", "d3"])).set_column(1, "text", pa.array(["Bees"] * 4))
    )
    made = ArrowTagger(model)(rows).to_pylist()
    assert [row["labels"] for row in made] == [["Bees"], None, ["Bees"], None]
    assert [row["id"] for row in made] == ["d0", None, "d2", "d3"]
    assert made[1]["error"].startswith("id is ")
    assert made[3]["error"] == "cannot be tagged (bad luck)"


def test_it_is_loaded_once_in_a_process_however_often_it_is_sent(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = list[Path]()
    load = Tagger.load

    def counted(folder: Path) -> Tagger:
        loads.append(folder)
        return load(folder)

    monkeypatch.setattr(Tagger, "load", counted)
    tagger = ArrowTagger(model, min_score=0.25)
    for _ in range(3):
        pickle.loads(pickle.dumps(tagger))(table(2))
    assert len(loads) == 1


def test_vectors_of_documents_are_kept_only_if_the_user_says_so(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, best = list[bool](), Tagger.best

    def noted(self: Tagger, documents: Any, options: Any) -> Any:
        kept.append(keeps_documents())
        return best(self, documents, options)

    monkeypatch.setattr(Tagger, "best", noted)
    monkeypatch.delenv("TAGWRIGHT_CACHE_DOCUMENTS", raising=False)
    ArrowTagger(model)(table())
    assert keeps_documents()  # what else the process does is as before
    monkeypatch.setenv("TAGWRIGHT_CACHE_DOCUMENTS", "yes")
    ArrowTagger(model)(table())
    assert kept == [False, True]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": "key"}, 'no column for "key"; it has id, text, other'),
        ({"name": "id"}, 'columns name "name", expected of id, title'),
    ],
)
def test_columns_that_are_not_there(columns: dict[str, str], problem: str, model: Path) -> None:
    with pytest.raises(ConfigError, match=problem):
        ArrowTagger(model, columns)(table())


def test_a_batch_without_text_and_a_tagger_that_was_replaced(tmp_path: Path) -> None:
    zero_shot(NAMES, stages=["exact_match"], language="en").save(tmp_path / "model")
    tagger = ArrowTagger(tmp_path / "model")
    zero_shot(["Bees"], stages=["exact_match"], language="en").save(tmp_path / "model", overwrite=True)
    with pytest.raises(ModelError, match="was replaced since the batch began"):
        tagger(table())
    with pytest.raises(ConfigError, match="no column for a text"):
        ArrowTagger(tmp_path / "model")(table().select(["id"]))


def expected(model: Path, count: int) -> list[tuple[str, list[str]]]:
    return [(row["id"], row["labels"]) for row in ArrowTagger(model)(table(count)).to_pylist()]


def test_daft_calls_it_with_batches_of_columns(model: Path) -> None:
    daft = pytest.importorskip("daft")
    tagger = ArrowTagger(model)

    kind = daft.DataType.from_arrow_type(pa.struct(list(tagger.schema)))

    @daft.func.batch(return_dtype=kind)  # type: ignore[untyped-decorator]
    def tag(ids: Any, texts: Any) -> Any:
        return tagger(pa.record_batch({"id": ids.to_arrow(), "text": texts.to_arrow()})).to_struct_array()

    rows = daft.from_arrow(table(64))
    made = rows.select(tag(rows["id"], rows["text"]).unnest()).to_pylist()
    assert [(row["id"], row["labels"]) for row in made] == expected(model, 64)


WITH_RAY = """
import sys, ray, pyarrow as pa, json
from tagwright.batch import ArrowTagger
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
rows = ray.data.from_arrow(pa.ipc.open_file(sys.argv[2]).read_all())
tagged = rows.map_batches(ArrowTagger(sys.argv[1]), batch_format="pyarrow", batch_size=16)
print(json.dumps([(row["id"], list(row["labels"])) for row in tagged.take_all()]))
"""

WITH_SPARK = """
import sys, json, pyarrow as pa
from pyspark.sql import SparkSession
from tagwright.batch import ArrowTagger
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.createDataFrame(pa.ipc.open_file(sys.argv[2]).read_all()).repartition(2)
tagger = ArrowTagger(sys.argv[1])
schema = "id string, labels array<string>, scores array<float>, confidences array<float>, none float, error string"
tagged = rows.mapInArrow(lambda batches: map(tagger, batches), schema)
print(json.dumps([(row["id"], row["labels"]) for row in tagged.collect()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "program"), [("ray", WITH_RAY), ("pyspark", WITH_SPARK)])
def test_engines_map_their_batches(engine: str, program: str, model: Path, tmp_path: Path) -> None:
    pytest.importorskip(engine)
    rows = table(64)
    with pa.ipc.new_file(tmp_path / "rows.arrow", rows.schema) as file:
        file.write(rows)
    command = [sys.executable, "-c", program, str(model), str(tmp_path / "rows.arrow")]
    environment = {**os.environ, "RAY_worker_niceness": "0", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    answered = [(id_, labels) for id_, labels in json.loads(done.stdout.splitlines()[-1])]
    assert sorted(answered) == sorted(expected(model, 64))
