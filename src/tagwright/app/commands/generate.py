"""The commands `describe-labels` and `synthesise`: what a language model writes, as data to be reviewed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagwright.app.arguments import Docs, LabelFile, Language, Quiet, Reading
from tagwright.core.outputs import Written

if TYPE_CHECKING:
    from tagwright.llm.options import LlmOptions

Model = Annotated[str, typer.Option("--model", metavar="NAME", help="The model at the server $TAGWRIGHT_LLM.")]
ModelSettings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An option of the language model, those with llm. in tagwright options auto: calls=100.",
    ),
]
Output = Annotated[Path, Written(), typer.Option("--output", help="The file to write: JSON lines.")]


def describe_labels(
    labels: LabelFile,
    output: Output,
    model: Model,
    language: Language = "",
    settings: ModelSettings = [],  # noqa: B006
    _quiet: Quiet = False,
) -> None:
    """Write a vocabulary with descriptions by a language model for the labels that have none.

    Each of these says in "described_by" by which model, by which instructions and when; review them as you like.
    """
    from tagwright.app.arguments import Chosen
    from tagwright.app.inputs import vocabulary
    from tagwright.llm.generation import described
    from tagwright.readers.lines import write_json_lines
    from tagwright.text.language import AUTO

    records = list(described(vocabulary(Chosen(labels, language)), _options(model, settings), language or AUTO))
    write_json_lines(records, output)
    print(f"{sum('described_by' in each for each in records):,} of {len(records):,} labels are described now: {output}")


def synthesise(
    docs: Docs,
    reading: Reading,
    labels: LabelFile,
    output: Output,
    model: Model,
    fewer_than: Annotated[int, typer.Option(min=1, help="For labels that fewer of DOCS have than this.")] = 3,
    each: Annotated[int, typer.Option(min=1, max=20, help="Documents to write for each of them.")] = 3,
    language: Language = "",
    settings: ModelSettings = [],  # noqa: B006
    _quiet: Quiet = False,
) -> None:
    """Write documents by a language model for the labels that few documents have, for `train auto --synthetic`.

    They are marked; nothing is ever measured on them. Review them as you like.
    """
    from tagwright.app import inputs
    from tagwright.app.arguments import Chosen
    from tagwright.llm.generation import synthetic_documents
    from tagwright.readers.documents.jsonl import write_jsonl
    from tagwright.text.language import AUTO

    corpus = inputs.read(docs, reading)
    vocabulary, options = inputs.vocabulary(Chosen(labels, language), corpus), _options(model, settings)
    found = list(synthetic_documents(vocabulary, corpus, options, language or AUTO, fewer_than=fewer_than, each=each))
    write_jsonl(found, output)
    print(f"{len(found):,} documents for {len({each.labels for each in found}):,} labels: {output}")


def _options(model: str, settings: list[str]) -> "LlmOptions":
    """The options of the model. Raises ConfigError for one that does not exist or fit."""
    from tagwright.app.options import values_of
    from tagwright.core.checked import build
    from tagwright.llm.options import LlmOptions

    return build(LlmOptions, {**values_of(None, settings), "model": model})
