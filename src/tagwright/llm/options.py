"""Which language model is asked, how, and how much it may cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from tagwright.core.checked import AtLeastOne, AtLeastZero, Checked, NotNegative, Positive
from tagwright.errors import ConfigError

Parameter: TypeAlias = str | int | float | bool

LLM_RANKING = "llm_ranking"
"The name of the stage by which a language model ranks the first candidates again."


@dataclass(frozen=True, kw_only=True)
class LlmOptions(Checked):
    """A language model and its budget. Raises ConfigError for a value that cannot work.

    The address is no option: a saved tagger must not decide where documents are sent.
    """

    model: str = ""
    "The name of a model at the server whose address $TAGWRIGHT_LLM holds; empty: no model is asked."

    candidates: AtLeastOne = 20
    "How many of a document's candidates the model ranks: the first ones."

    characters: AtLeastOne = 4000
    "The most characters of a document that are sent: its beginning."

    weight: NotNegative = 0.5
    "How much a point of the model, of 10, changes a score. It was not measured: that depends on the model."

    prompts: str = ""
    "A folder with other instructions for the model: the files of tagwright/llm/prompts, changed."

    calls: AtLeastOne | None = None
    "The most calls of a process; what is not answered then is done without the model."

    parallel: AtLeastOne = 4
    "Calls at the same time."

    timeout: Positive = 120.0
    "Seconds that an answer may take."

    retries: AtLeastZero = 2
    "How often a call that failed is made again, each time after twice as long."

    answer: AtLeastOne = 2000
    "The most tokens of an answer, with what a model writes while it thinks."

    response: Literal["json_schema", "json_object", "systemone"] = "json_schema"
    """How the server is told the form of answers: json_object is for llama-cpp-python. systemone is for decision
    models, which give each candidate a probability, at the address /systemone in place of /chat/completions."""

    parameters: Mapping[str, Parameter] = field(default_factory=lambda: {"temperature": 0})
    "What else is sent with each call, such as temperature or seed."


def instructions(name: str, options: LlmOptions) -> str:
    """The instructions for a task: a file of the user's folder, or else ours. Raises ConfigError if it has none."""
    path = Path(options.prompts or Path(__file__).parent / "prompts", f"{name}.txt")
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path}: cannot be read; copy the file of this name in tagwright/llm/prompts") from None
