"""Options as type checkers see them: wrong names and values are errors, what is accepted at run time is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.api.option_types import FILE, content
from tests.type_checks import type_errors

RIGHT = """
import tagwright as tw

tw.zero_shot(["Bees"], stages=["exact_match"], encoder=len, weights={"exact_match": 2}, llm={"model": "qwen"})
tw.train("micol", ["A text."], ["Bees"], meta_path="P->P<-P", training={"epochs": 2}, seed=1, check=True)
tw.train("rts", ["A text."], ["Bees"], loss=max, output="tagger", epochs=0.5, pooling=None)
"""

WRONG = """
import tagwright as tw

tw.zero_shot(["Bees"], encodr="minilm")
tw.train("micol", ["A text."], ["Bees"], minuts=3)
tw.train("auto", ["A text."], ["Bees"], minutes="3")
tw.train("micol", ["A text."], ["Bees"], architecture="cros")
"""


def test_the_types_of_options_are_those_of_the_methods() -> None:
    assert FILE.read_text(encoding="utf-8") == content(), "write them: python -m tests.api.option_types"


@pytest.mark.slow
def test_a_type_checker_sees_wrong_options_and_accepts_right_ones(tmp_path: Path) -> None:
    assert type_errors(tmp_path, RIGHT) == []
    found = type_errors(tmp_path, WRONG)
    assert [error.split(":")[1] for error in found] == ["4", "5", "6", "7"]
    assert 'Unexpected keyword argument "encodr" for "zero_shot"' in found[0]
    assert 'Unexpected keyword argument "minuts" for "train"' in found[1]
    assert 'Argument "minutes" to "train" has incompatible type "str"' in found[2]
    assert 'Argument "architecture" to "train" has incompatible type' in found[3]
