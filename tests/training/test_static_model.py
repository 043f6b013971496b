"""A static encoder that is trained without sentence-transformers is the one that is trained with it."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tests.tiny import tiny_encoder
from tests.training.training_run import TRAINING, Watching, pairs, plain_loss

from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.static import distil
from tagwright.encoders.token_table import TokenTable
from tagwright.training.loop import train
from tagwright.training.trainable_encoder import trainable_encoder

pytestmark = pytest.mark.usefixtures("one_thread")
TEXTS = ["a bee and honey", "bee", "", "the stock market and a bee and a bee"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("encoder")
    return str(distil(place / "static", str(tiny_encoder(place / "tiny"))))


def table_of(folder: str) -> TokenTable:
    table = BiEncoder.load(folder).trainable()
    assert isinstance(table, TokenTable)
    return table


def test_a_training_ends_with_the_weights_of_one_with_sentence_transformers(folder: str) -> None:
    table, model = table_of(folder), SentenceTransformer(folder, device="cpu")
    before = table.table.copy()
    copied = copy.deepcopy(table)
    train(table, pairs, Watching(plain_loss), TRAINING)
    np.testing.assert_array_equal(copied.table, before)  # which has vectors of its own
    train(model, pairs, Watching(plain_loss), TRAINING)
    (expected,) = model.parameters()
    np.testing.assert_array_equal(table.table, expected.detach().numpy())
    assert (table.table != before).any()


def test_a_trained_table_is_saved_for_sentence_transformers_too(folder: str, tmp_path: Path) -> None:
    prompts = {"query": "a bee and ", "document": "honey "}
    table = BiEncoder.load(folder, prompts=prompts).trainable()
    train(table, pairs, Watching(plain_loss), TRAINING)
    encoder = BiEncoder.of(table)
    encoder.save(tmp_path / "saved")
    library = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    ours = encoder.encode_raw(TEXTS, role="query"), encoder.encode_raw(TEXTS, role="document")
    np.testing.assert_allclose(ours[0], library.encode_query(TEXTS), atol=1e-6)
    np.testing.assert_allclose(ours[1], library.encode_document(TEXTS), atol=1e-6)
    loaded = BiEncoder.load(str(tmp_path / "saved"))
    np.testing.assert_array_equal(loaded.encode_raw(TEXTS, role="query"), ours[0])
    np.testing.assert_allclose(encoder.model.encode_query(TEXTS), ours[0], atol=1e-6)


def test_weights_that_are_elsewhere_are_written_back(folder: str) -> None:
    table = table_of(folder)
    encoder = trainable_encoder(table)
    encoder.model.to(torch.float64)  # as on a GPU, the table does not share them
    (weight,) = encoder.model.parameters()
    weight.data += 1
    expected = table.table + 1
    assert not np.array_equal(table.table, expected)
    encoder.write_back()
    np.testing.assert_allclose(table.table, expected)


def test_training_it_loads_neither_sentence_transformers_nor_torchs_compiler(folder: str) -> None:
    code = (
        "import sys; from tagwright.encoders.bi_encoder import BiEncoder; import tests.training.training_run as run; "
        "from tagwright.training.loop import train; "
        "train(BiEncoder.load(sys.argv[1]).trainable(), run.pairs, run.Watching(run.plain_loss), run.TRAINING); "
        "print({'sentence_transformers', 'transformers', 'torch._dynamo'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
