"""The notebook of the documentation runs from top to bottom, and shows what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"


def shown(cell: Any) -> str:
    """The HTML that a cell shows; empty where it shows text only."""
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)


def cells(table: str) -> list[list[str]]:
    """The rows of HTML that is well-formed, so that each element is closed and no text is markup."""
    page = ElementTree.fromstring(f"<body>{table}</body>")
    return [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:(jupyter_client|nbclient|zmq|tornado)")
def test_the_notebook_shows_evidence_scores_comparison_report_and_search(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where).execute()
    _, explained, scores, comparison, report, search = (c for c in notebook.cells if c.cell_type == "code")

    header, *rows = cells(shown(explained))
    assert header == ["label", "id", "notation", "score", "confidence"]
    assert len(rows) == 3
    assert all(re.fullmatch(r"§\d+", row[2]) and row[4] in ("likely", "possible", "unlikely") for row in rows)
    marked = re.findall(r"<mark[^>]*>(.*?)</mark>", shown(explained), re.DOTALL)
    assert any("Singular Value Decomposition" in each for each in marked)

    assert [row[0] for row in cells(shown(scores))][:4] == ["%", "P@1", "P@3", "nDCG@5"]
    assert cells(shown(comparison))[0][:4] == ["%", "words", "words and meaning", "words - words and meaning"]
    assert ["R@100"] in [row[:1] for row in cells(shown(report))]
    assert "<h2>Examples</h2>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(level in shown(search) for level in ("0.1", "0.3", "0.5"))
    assert "&lt;" not in "".join(map(shown, (explained, scores, comparison, report, search)))
