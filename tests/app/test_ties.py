"""In which order suggestions with equal scores of a run file are measured: by hand-worked figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tagwright import evaluate, read_run

TIED = {
    "trec": "d1 Q0 p 1 1.0 x\nd1 Q0 q 2 1.0 x\nd2 Q0 q 1 2.0 x\nd2 Q0 s 2 2.00000001 x\nd2 Q0 r 3 1.0 x\n",
    "jsonl": """{"id": "d1", "suggestions": [{"label": "p", "score": 1}, {"label": "q", "score": 1}]}
{"id": "d2", "suggestions": [{"label": "q", "score": 2}, {"label": "s", "score": 2}, {"label": "r", "score": 1}]}
""",
}


@pytest.mark.parametrize(
    ("ending", "precision", "ndcg"),
    [
        # q before p; s before q, as 2 and 2.00000001 are one number in 32 bits: ranks 1; 1 and 3.
        # DCG 1 of 1; 1 + 1 / log2(4) = 1.5 of 1 + 1 / log2(3) = 1.63093; (1 + 0.91972) / 2
        ("trec", 1.0, 0.95986),
        # as the file has them: ranks 2; 2 and 3. 0.63093 of 1; 0.63093 + 0.5 of 1.63093; (0.63093 + 0.69342) / 2
        ("jsonl", 0.0, 0.66218),
    ],
)
def test_ties_stand_as_trec_eval_orders_them_or_as_lines_of_json_do(
    ending: str, precision: float, ndcg: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"run.{ending}").write_text(TIED[ending])
    docs = {"d1": ["q"], "d2": ["r", "s"]}
    Path("docs.jsonl").write_text("\n".join(json.dumps({"id": i, "text": "x", "labels": docs[i]}) for i in docs))
    Path("labels.txt").write_text("s\nq\np\nr")
    measures = ["P@1", "nDCG@3"]
    tied = read_run(Path(f"run.{ending}"), ["d1", "d2"], {"s": 0, "q": 1, "p": 2, "r": 3})
    scores = evaluate(tied, Path("docs.jsonl"), labels=Path("labels.txt"), measures=measures)
    assert [scores[name].value for name in measures] == pytest.approx([precision, ndcg], abs=5e-5)
