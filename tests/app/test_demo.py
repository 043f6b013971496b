"""The demo: SciPy's functions as documents, the headings of its manual as labels."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest

from tagwright.app import demo
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import TagwrightError
from tagwright.tagger import Evidence, Tagger, zero_shot
from tagwright.types import Document, EvidenceSpan

PAGE = """
====================================
Bee keeping (:mod:`scipy.apiculture`)
====================================

Available functions
===================

Honey
-----

.. autosummary::
   :toctree: generated/

   extract  -- Not read.
   strain

The `extract` function supports these methods:

.. toctree::

   extract-cold

Utilities
---------

.. autosummary::

   weigh

Hives
-----

Wood
^^^^

.. autosummary::

   build
   no_such_thing
"""


def extract() -> None:
    """Extract honey with a
    centrifuge.

    See `strain` [1]_ and :func:`build`.

    .. versionadded:: 1.0

    Parameters
    ----------
    comb : array
        What to empty.
    """


def strain() -> None:
    """strain(honey, /, out=None)

    Strain honey.
    """


def weigh() -> None:
    """Weigh anything."""


def build() -> None:
    """Build a hive of boards."""


@pytest.fixture
def page() -> ModuleType:
    made = ModuleType("scipy.apiculture", PAGE)
    made.__dict__.update(extract=extract, strain=strain, weigh=weigh, build=build)
    return made


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = zero_shot.fit

    def without_encoder(labels: Vocabulary, config: zero_shot.Config) -> Tagger:
        return fit(labels, replace(config, stages=("exact_match", "tfidf"), weights=(0.5, 1.0)))

    monkeypatch.setattr(zero_shot, "fit", without_encoder)


def test_a_page_lists_functions_under_headings(page: ModuleType) -> None:
    honey, utilities = ("Bee keeping", "Honey"), ("Bee keeping", "Utilities")
    assert list(demo.list_functions(page.__doc__ or "")) == [
        (honey, "extract"),
        (honey, "strain"),
        (utilities, "weigh"),
        (("Bee keeping", "Hives"), "build"),
        (("Bee keeping", "Hives"), "no_such_thing"),
    ]


def test_a_function_becomes_a_document_unless_its_heading_names_no_subject(page: ModuleType) -> None:
    found = list(demo.functions(page))
    assert [(each.id, each.labels) for each in found] == [
        ("apiculture.extract", ("Bee keeping > Honey",)),
        ("apiculture.strain", ("Bee keeping > Honey",)),
        ("apiculture.build", ("Bee keeping > Hives",)),
    ]
    assert found[0].title == "Extract honey with a centrifuge."
    assert found[0].abstract == "See strain and build."
    assert found[1].title == "Strain honey."


def test_the_manual_of_the_installed_scipy_is_read() -> None:
    manual, labels, _ = demo.read_manual()
    documents = {document.id: document for document in manual}
    assert set(demo.EXAMPLES) <= documents.keys()
    assert len(documents) > 1000
    peaks = labels[labels.index["Signal processing > Peak finding"]]
    assert (peaks.name, peaks.description) == ("Peak finding", "Signal processing")
    assert not any("egacy" in label or "Utilities" in label for label in labels.ids)
    butter = documents["signal.butter"]  # which holds nothing of what the lists say
    assert "signal" not in butter.title.lower()
    assert "autosummary" not in butter.text
    assert butter.labels == ("Signal processing > Matlab-style IIR filter design",)


def test_without_docstrings_the_demo_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "functions", lambda _: iter(()))
    with pytest.raises(TagwrightError, match="-OO"):
        demo.read_manual()


def test_few_functions_of_each_heading_are_scored() -> None:
    documents = [Document(str(i), labels=("a",)) for i in range(9)] + [Document("b", labels=("b",))]
    drawn = demo.sample(documents, ("a", "b"))
    assert sorted(document.labels[0] for document in drawn) == ["a", "a", "a", "b"]
    assert drawn == demo.sample(documents, ("a", "b"))


def test_evidence_is_one_line_of_words_and_the_nearest_sentence() -> None:
    document = Document("d", title="Bees", abstract="Bees fly. bees sting.")
    evidence = [
        Evidence("tfidf", 1, 0.5, (EvidenceSpan(0, 4, 1.0), EvidenceSpan(15, 19, 1.0), EvidenceSpan(10, 13, 1.0))),
        Evidence("dense", 2, 0.4, (EvidenceSpan(15, 26, 1.0), EvidenceSpan(5, 14, 0.5))),
    ]
    assert demo.explain_label(evidence, document) == 'words: Bees, fly; meaning: "bees sting."'
    assert demo.explain_label([], document) == ""


def test_the_demo_fits_a_screen_and_marks_what_is_right(words_only: None, capsys: pytest.CaptureFixture[str]) -> None:
    demo.run()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    peaks = lines.index("signal.find_peaks: Find peaks inside a signal based on peak properties.")
    assert lines[peaks + 1].split(maxsplit=1)[1] == "Signal processing > Peak finding <- as in the manual"
    assert "words: " in lines[peaks + 2]
    examples = "\n".join(lines).split("\n\n")[1:-2]
    assert len(examples) == len(demo.EXAMPLES)
    assert all(("<- as in the manual" in each) != ("(in the manual: " in each) for each in examples)
    assert any("By chance: " in line for line in lines)
    assert "tagwright suggest FOLDER" in lines[-2]


def test_no_line_wraps_in_a_terminal_of_80_columns(
    words_only: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    demo.run()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("… <- as in the manual") for line in lines)
    assert not any("…" in line for line in (*lines[:2], *lines[-5:]))
