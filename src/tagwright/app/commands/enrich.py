"""The command `enrich`: copies of catalogue records with suggested subjects."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tagwright.app.arguments import Chosen, Cut, Quiet
from tagwright.core.outputs import Written


def enrich(
    records: Annotated[Path, typer.Argument(metavar="RECORDS", help="MARC 21: ISO 2709 or MARCXML.")],
    chosen: Chosen,
    cut: Cut,
    output: Annotated[Path, Written(), typer.Option("--output", help="The copy to write.")],
    source: Annotated[
        str,
        typer.Option("--source", metavar="CODE", help="MARC's code of the vocabulary: gnd, lcsh; local for others."),
    ] = "",
    agency: Annotated[str, typer.Option(metavar="CODE", help="MARC's code of the library that adds them.")] = "",
    run: Annotated[Path | None, typer.Option(help="A run file with the suggestions, instead of tagging.")] = None,
    _quiet: Quiet = False,
) -> None:
    """Copy catalogue records with suggested subjects (650) and where they come from (883). Needs the extra "marc"."""
    from tagwright.app import inputs
    from tagwright.catalogues.copies import check, read_records, write_copy
    from tagwright.catalogues.subjects import Provenance, suggested_by
    from tagwright.core.display import many
    from tagwright.data.run_files import read_run
    from tagwright.tagger import batches
    from tagwright.tagger.acceptance import SuggestOptions
    from tagwright.tagger.cut import cut as cut_ranking
    from tagwright.types import Run

    provenance = Provenance(source=source, agency=agency, date=datetime.now(UTC).strftime("%Y%m%d"))
    options = SuggestOptions(**vars(cut))
    check(records, output)
    corpus, places = read_records(records)
    if run:
        vocabulary = inputs.in_languages_of(corpus, chosen, inputs.vocabulary(chosen))
        own = vocabulary.own(corpus) if options.exclude_self else None
        found = cut_ranking(vocabulary, read_run(run, corpus.ids, vocabulary.index), options, own)
    else:
        tagger = inputs.tagger(chosen, corpus)
        tagger.check(options)
        vocabulary, found = tagger.vocabulary, Run.concat([tagger.best(batch, options) for batch in batches(corpus)])
    suggested = suggested_by(found, corpus.ids, places, inputs.with_asked_names(chosen, vocabulary))
    enriched, added = write_copy(records, output, suggested, provenance)
    print(f"{many(added, 'subject')} added to {many(enriched, 'record')}: {output}")
