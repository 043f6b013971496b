"""The demo: SciPy's functions as documents, the headings of its manual as labels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tagwright.app import demo
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import TagwrightError
from tagwright.tagger import Tagger, zero_shot


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = zero_shot.fit

    def without_encoder(labels: Vocabulary, config: zero_shot.Config) -> Tagger:
        return fit(labels, replace(config, stages=("exact_match", "tfidf"), weights=(0.5, 1.0)))

    monkeypatch.setattr(zero_shot, "fit", without_encoder)


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
