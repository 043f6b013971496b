"""The command `enrich`: copies of catalogue records with suggested or accepted subjects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagwright.app.arguments import Cut, Named, Quiet, Reading, ReplaceGone
from tagwright.core.outputs import Written
from tagwright.errors import ConfigError

if TYPE_CHECKING:
    from tagwright.types import Run


def enrich(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="MARC 21 (ISO 2709, MARCXML), or a table: CSV, TSV, Excel.")
    ],
    reading: Reading,
    chosen: Named,
    cut: Cut,
    output: Annotated[Path, Written(like="records"), typer.Option("--output", help="The copy to write.")],
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="CODE",
            help="MARC's code of the vocabulary: gnd, lcsh; local for others. By default, the ids tell it.",
        ),
    ] = "",
    agency: Annotated[str, typer.Option(metavar="CODE", help="MARC's code of the library that adds them.")] = "",
    run: Annotated[Path | None, typer.Option(help="A run file with the suggestions, instead of tagging.")] = None,
    reviews: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sqlite",
            help="A file of `tagwright serve --reviews`: write the accepted subjects; records without a review stay as "
            "they are.",
        ),
    ] = None,
    replace_gone: ReplaceGone = False,
    changed_texts: Annotated[
        bool,
        typer.Option(
            "--changed-texts", help="--reviews: decisions hold also where the text of a record has changed since."
        ),
    ] = False,
    undecided: Annotated[
        bool, typer.Option("--open", help="--reviews: suggestions without a verdict too, of --run or the tagger.")
    ] = False,
    _quiet: Quiet = False,
) -> None:
    """Copy catalogue records with subjects (650) and where they come from (883), or a table with all of its columns.

    Of MARC (extra "marc"), subjects that an earlier copy added are replaced; those of cataloguers stay.
    """
    from tagwright.api.enriching import enrich as enriched_copy
    from tagwright.app import inputs
    from tagwright.catalogues.copies import check, read_records
    from tagwright.catalogues.subjects import of_run
    from tagwright.core.display import plural
    from tagwright.data.run_files import keep_matching, read_run
    from tagwright.tagger import batches
    from tagwright.tagger.acceptance import SuggestOptions
    from tagwright.tagger.cut import cut_ranking as cut_run
    from tagwright.types import Run

    if undecided and not reviews:
        raise ConfigError("--open says what becomes of the suggestions beside --reviews; without it, all are written")
    if (replace_gone or changed_texts) and not reviews:
        raise ConfigError(
            "--replace-gone and --changed-texts say what becomes of decisions; name their file, --reviews"
        )
    if reviews and run and not undecided:
        raise ConfigError("--reviews writes accepted subjects only; --open adds the others of --run")
    options = SuggestOptions(**vars(cut))
    read_as = inputs.options_of(reading)
    check(records, output, read_as)
    corpus, places = read_records(records, **read_as)
    tagger = None if run or (reviews and not undecided) else inputs.tagger(chosen, corpus)
    if tagger:
        tagger.check(options)
        vocabulary = tagger.vocabulary
    else:
        vocabulary = inputs.in_languages_of(corpus, chosen, inputs.vocabulary(chosen))
    asked = inputs.asked_names(chosen, vocabulary)
    names = inputs.named_in(asked, vocabulary)
    found: Run | None = None
    if run:
        digests = dict[str, str]()
        fitted = keep_matching(read_run(run, corpus.ids, vocabulary.index, digests), corpus, digests, run)
        found = cut_run(vocabulary, fitted, options, vocabulary.own(corpus) if options.exclude_self else None)
    elif tagger:
        found = Run.concat([tagger.best(batch, options) for batch in batches(corpus)])
    suggestions = {} if found is None else {"suggestions": of_run(found, names, asked)}
    arguments: dict[str, Any] = {"names_in": asked, "reviews": reviews, "read": (corpus, places), **suggestions}
    arguments |= {"reading": read_as, "replace_gone": replace_gone, "changed_texts": changed_texts}
    enriched, added, replaced = enriched_copy(records, output, names, source=source, agency=agency, **arguments)
    taken_out = f", {replaced:,} of an earlier copy taken out" if replaced else ""
    print(f"{plural(added, 'subject')} added to {plural(enriched, 'record')}{taken_out}: {output}")
