"""Run files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagwright.errors import InputError
from tagwright.readers.run_files import read_run, write_run
from tagwright.types import Run

DOCUMENTS = ["d1", "d2"]
LABELS = {"bees": 0, "wasps": 1, "ants": 2}


def read(folder: Path, *lines: str) -> Run:
    path = folder / "run.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_run(path, DOCUMENTS, LABELS)


def suggesting(suggestions: str, document_id: str = "d1") -> str:
    return f'{{"id": "{document_id}", "suggestions": {suggestions}}}'


EMPTY = suggesting("[]", "d2")


def test_rows_come_in_the_order_of_the_documents_not_of_the_file(tmp_path: Path) -> None:
    run = read(tmp_path, EMPTY, suggesting('[{"label": "ants", "score": 2}, {"label": "bees", "score": -0.5}]'))
    assert run.indptr.tolist() == [0, 2, 2]
    assert run.labels.tolist() == [2, 0]
    assert run.scores.tolist() == [2.0, -0.5]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (suggesting("[]", "d9"), 'no document has the id "d9"'),
        ('{"suggestions": []}', "id is missing"),
        ('{"id": "d1"}', "suggestions is null"),
        (suggesting('["bees"]'), r'suggestions is \["bees"\]'),
        (suggesting('[{"score": 1}]'), "label is missing"),
        (suggesting('[{"label": "flies", "score": 1}]'), 'no label has the id "flies"'),
        (suggesting('[{"label": "bees", "score": 1}, {"label": "bees", "score": 1}]'), '"bees" is suggested twice'),
        (suggesting('[{"label": "bees", "score": 1}, {"label": "ants", "score": 2}]'), "best suggestion first"),
        (suggesting('[{"label": "bees"}]'), "score is null"),
        (suggesting('[{"label": "bees", "score": "1"}]'), 'score is "1"'),
        (suggesting('[{"label": "bees", "score": true}]'), "score is true"),
        (suggesting('[{"label": "bees", "score": NaN}]'), "score is NaN"),
        (suggesting('[{"label": "bees", "score": Infinity}]'), "score is Infinity"),
        (suggesting('[{"label": "bees", "score": 1e39}]'), "expected a finite number"),
        (EMPTY, 'document "d2" has two lines'),
        ("{", "is not JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"run\.jsonl:2: .*{problem}"):
        read(tmp_path, EMPTY, line)


def test_a_run_over_a_folder_says_that_a_file_of_it_alone_has_another_id(tmp_path: Path) -> None:
    for run_has, known in (("a.txt", "notes/a.txt"), ("notes/a.txt", "a.txt")):
        (tmp_path / "run.jsonl").write_text(suggesting("[]", run_has))
        with pytest.raises(
            InputError, match=f'no document has the id "{run_has}"; there is "{known}": give its folder'
        ):
            read_run(tmp_path / "run.jsonl", [known], LABELS)


def test_the_first_document_without_a_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'run\.jsonl: no line for document "d1", 1 of 2 have none'):
        read(tmp_path, EMPTY)


def test_a_run_that_does_not_fit_the_documents_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="argument 2 is longer"):
        write_run(Run.from_rows([[0]]), DOCUMENTS, list(LABELS), tmp_path / "run.jsonl")
    assert not list(tmp_path.iterdir())


score = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=40)  # writes to the disk, and waits for it
@given(rows=st.lists(st.dictionaries(st.integers(0, 5), score), max_size=5))
def test_what_is_written_is_read_again_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[int, float]]
) -> None:
    path = tmp_path_factory.mktemp("runs") / "run.jsonl"
    run, documents, labels = Run.from_rows(rows), [f"ü{row}" for row in range(len(rows))], list("abcdef")
    write_run(run, documents, labels, path)
    again = read_run(path, documents, {label: index for index, label in enumerate(labels)})
    np.testing.assert_array_equal(again.indptr, run.indptr)
    np.testing.assert_array_equal(again.labels, run.labels)
    np.testing.assert_array_equal(again.scores, run.scores)


def test_confidences_are_written_and_read_back(tmp_path: Path) -> None:
    run = Run.of(np.array([0, 2, 2]), np.array([2, 0]), np.array([2.0, 1.0]), np.array([0.9, 0.1]))
    write_run(run, DOCUMENTS, list(LABELS), tmp_path / "run.jsonl")
    assert '{"label": "ants", "score": 2.0, "confidence": 0.9}' in (tmp_path / "run.jsonl").read_text()
    found = read_run(tmp_path / "run.jsonl", DOCUMENTS, LABELS).confidences
    assert found is not None
    assert found.tolist() == np.array([0.9, 0.1], np.float32).tolist()


def test_equal_scores_stay_in_the_order_of_the_file_with_their_confidences(tmp_path: Path) -> None:
    sure = '[{"label": "ants", "score": 1, "confidence": 0.25}, {"label": "bees", "score": 1, "confidence": 1}]'
    run = read(tmp_path, suggesting(sure), EMPTY)
    assert run.confidences is not None
    assert (run.labels.tolist(), run.confidences.tolist()) == ([2, 0], [0.25, 1.0])


def test_a_run_in_which_some_suggestions_have_no_confidence_has_none(tmp_path: Path) -> None:
    some = '[{"label": "ants", "score": 2, "confidence": 0.5}, {"label": "bees", "score": 1}]'
    assert read(tmp_path, suggesting(some), EMPTY).confidences is None
    other = suggesting('[{"label": "ants", "score": 2}]', "d2")
    assert read(tmp_path, suggesting('[{"label": "ants", "score": 2, "confidence": 0.5}]'), other).confidences is None


@pytest.mark.parametrize("confidence", ["1.5", "-0.1", "null", '"high"', "true", "NaN"])
def test_a_confidence_that_is_no_probability_is_refused(confidence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run.jsonl:1"):
        read(tmp_path, suggesting(f'[{{"label": "ants", "score": 1, "confidence": {confidence}}}]'), EMPTY)
