"""The command `labels`: a vocabulary printed, checked, or described by a language model, to be reviewed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tagwright.app.arguments import Chosen, Encoding, Json, Quiet
from tagwright.core.outputs import Written
from tagwright.errors import ConfigError


def labels(
    chosen: Chosen,
    output_format: Annotated[
        Literal["jsonl", "csv", "tsv", "skos"],
        typer.Option("--format", help="Output format; skos is Turtle, limited to what SKOS can express."),
    ] = "jsonl",
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every byte of --model, and whether --labels are still its labels.")
    ] = False,
    keywords: Annotated[
        int | None, typer.Option(min=1, help="Print this many keywords per label of a tagger from `train svm`.")
    ] = None,
    describe: Annotated[
        str,
        typer.Option(metavar="NAME", help="Let this model at the server $TAGWRIGHT_LLM describe labels without text."),
    ] = "",
    output: Annotated[
        Path | None, Written(own=r"\{"), typer.Option(help="--describe: the file to write, JSON lines.")
    ] = None,
    encoding: Encoding = "",
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Print the labels of a file or a saved tagger, or their keywords, which you can edit for `train depl`.

    Printed labels can be read again unchanged.

    --verify checks every byte of a tagger; loading checks only 64 MB and the sizes of larger files. The exit code is 1
    if labels were added, removed or renamed. For a tagger, or for --labels alone, it also lists labels that no text can
    match by name, such as stop words, each with the reason.

    --describe writes the vocabulary with generated descriptions, each with its model, instructions and date, for you to
    review. --set then takes options of the language model, the llm. ones of `tagwright train zero_shot --options`.
    """
    from tagwright.app import inputs, render
    from tagwright.data.vocabulary import Vocabulary

    if describe:
        _describe(chosen, describe, output)
    elif verify:
        _verify(chosen, as_json=as_json)
    elif bool(chosen.labels) == bool(chosen.model):
        raise ConfigError("give a saved tagger, --model DIR, or a vocabulary, --labels FILE")
    else:
        file_format: Any = "turtle" if output_format == "skos" else output_format
        from tagwright.readers.labels.files import label_lines

        if keywords is not None:
            render.print_lines(_keyword_lines(chosen, keywords))
        elif chosen.labels:
            read = Vocabulary.read(chosen.labels, language=chosen.language or None, encoding=encoding)
            render.print_lines(label_lines(read, file_format))
        else:
            render.print_lines(label_lines(inputs.vocabulary(chosen), file_format))


def _verify(chosen: Chosen, *, as_json: bool) -> None:
    from tagwright.app import render
    from tagwright.data.vocabulary_changes import VocabularyChanges
    from tagwright.readers.labels.files import to_vocabulary
    from tagwright.stages.by_language import ByLanguage
    from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions, find_unfound
    from tagwright.tagger import Tagger
    from tagwright.text.language import AUTO

    wanted = to_vocabulary(chosen.labels, chosen.language) if chosen.labels else None
    if chosen.model is None:
        if wanted is None:
            raise ConfigError("--verify checks a saved tagger, --model DIR, or a vocabulary, --labels FILE")
        stages = [ExactMatch(wanted, ExactMatchOptions(stem=chosen.language or AUTO))]
        render.print_verified(None, wanted, None, find_unfound(wanted, stages), as_json=as_json)
        return
    tagger = Tagger.load(chosen.model, verify=True)
    changes = VocabularyChanges.of(tagger.vocabulary, wanted) if wanted else None
    made = tagger.stages.values()
    parts = [[stage.of(code) for code in stage.known] if isinstance(stage, ByLanguage) else [stage] for stage in made]
    missed = find_unfound(tagger.vocabulary, [each for part in parts for each in part if isinstance(each, ExactMatch)])
    render.print_verified(chosen.model, tagger.vocabulary, changes, missed, as_json=as_json)
    if changes:
        raise typer.Exit(1)


def _keyword_lines(chosen: Chosen, keywords: int) -> Iterator[str]:
    """The keywords of a linear classifier."""
    from tagwright.data.keywords import keyword_records
    from tagwright.stages.linear.stage import Linear
    from tagwright.tagger import Tagger

    if chosen.model is None:
        raise ConfigError("keywords are those of a saved tagger of `train svm`: --model DIR")
    tagger = Tagger.load(chosen.model)
    svm = tagger.stages.get("svm")
    if not isinstance(svm, Linear):
        raise ConfigError(f"the tagger has the stages {', '.join(tagger.stages)}; expected one called svm")
    records = keyword_records(tagger.vocabulary, svm.keywords(keywords))
    return (json.dumps(record, ensure_ascii=False) for record in records)


def _describe(chosen: Chosen, model: str, output: Path | None) -> None:
    from tagwright.app import inputs
    from tagwright.app.options import values_of
    from tagwright.core.checked import build
    from tagwright.llm.generation import describe_labels
    from tagwright.llm.options import LlmOptions
    from tagwright.readers.lines import write_json_lines
    from tagwright.text.language import AUTO

    if output is None:
        raise ConfigError("name the file to write: --output FILE")
    options = build(LlmOptions, {**values_of(None, chosen.settings), "model": model})
    records = list(describe_labels(inputs.vocabulary(chosen), options, chosen.language or AUTO))
    write_json_lines(records, output)
    count = sum("described_by" in record for record in records)
    print(f"{count:,} of {len(records):,} labels are described now: {output}")
