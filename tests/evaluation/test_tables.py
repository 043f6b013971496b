"""Reports: what is printed."""

import io
from pathlib import Path

from tagwright.evaluation.resampling import Score
from tagwright.evaluation.scores import LabelScore, Scores, write_label_scores
from tagwright.evaluation.significance import Comparison, Difference, comparison_rows
from tagwright.evaluation.tables import Rows, terminal_table
from tagwright.types import Label

HALF = Score(0.5, 0.25, 0.75)
SCORES = Scores(1234, {"P@1": HALF, "nDCG@3": HALF}, {"tail": Scores(56, {"P@1": HALF})})
COMPARISON = Comparison(
    9,
    {
        "P@1": Difference(0.5, 0.4, Score(0.1, 0.02, 0.2), 0.00005, 0.0001),
        "PSP@1": Difference(0.3, 0.4, Score(-0.1, -0.2, 0.1), 0.2, 0.2),
    },
)


def printed(rows: Rows, title: str) -> str:
    from rich.console import Console

    console = Console(width=120, file=io.StringIO())
    with console.capture() as capture:
        console.print(terminal_table(rows, title))
    return capture.get()


def test_rows_of_a_comparison_show_adjusted_p_and_mark_what_is_significant() -> None:
    assert comparison_rows(COMPARISON) == [
        ["%", "A", "B", "A - B", "95% interval", "p"],
        ["P@1", "50.0", "40.0", "+10.0*", "2.0 to 20.0", "<0.001"],
        ["PSP@1", "30.0", "40.0", "-10.0", "-20.0 to 10.0", "0.200"],
    ]


def test_what_rounds_to_zero_has_no_minus() -> None:
    tiny = Difference(0.0, 0.0004, Score(-0.0004, -0.0004, 0.0), 1.0, 1.0)
    assert comparison_rows(Comparison(1, {"P@1": tiny}))[1][3:5] == ["+0.0", "0.0 to 0.0"]


def test_brackets_in_a_title_are_printed_as_they_are() -> None:
    text = printed([["a", "b"], ["[red]x[/red]", "1"]], "run[bold].jsonl")
    assert "run[bold].jsonl" in text
    assert "[red]x[/red]" in text


def test_the_table_per_label_quotes_names_with_tabs_and_holds_no_formula(tmp_path: Path) -> None:
    rows = [LabelScore(1, None, 1, 1, 0, 0.5, 1.0, 2 / 3), LabelScore(0, 4, 0, 0, 1, 0.0, 0.0, 0.0)]
    labels = [Label("@a", ("=ants",), notation="-2"), Label("b", ("bees\tand wasps",), notation="595.79")]
    write_label_scores(rows, labels, tmp_path / "labels.tsv")
    assert (tmp_path / "labels.tsv").read_text().splitlines() == [
        "label\tname\ttrain\ttp\tfp\tfn\tprecision\trecall\tf1\tnotation",
        'b\t"bees\tand wasps"\t\t1\t1\t0\t0.5000\t1.0000\t0.6667\t595.79',
        "'@a\t'=ants\t4\t0\t0\t1\t0.0000\t0.0000\t0.0000\t'-2",
    ]
