"""The command `cache`: print or clear the contents of the cache."""

import json
from typing import Annotated

import typer

from tagwright.app.arguments import Json
from tagwright.core.display import escape_controls, print_json


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove everything from the cache.")] = False,
    as_json: Json = False,
) -> None:
    """Show what the cache holds: embeddings, parsed vocabularies, indexes of labels, the static encoder.

    TAGWRIGHT_CACHE_LIMIT (2G) limits its size: the oldest entries go first. TAGWRIGHT_CACHE_DOCUMENTS=no
    keeps documents out of it. TAGWRIGHT_CACHE is its folder.
    """
    from tagwright.core.cache import user_cache

    kept = user_cache()
    if clear:
        freed = kept.clear()
        print(json.dumps({"freed": freed}) if as_json else f"freed {megabytes(freed)}")
        return
    kinds, size = kept.contents(), kept.size()
    if as_json:
        content = [dict(zip(("name", "entries", "size"), kind, strict=True)) for kind in kinds]
        print_json({"folder": str(kept.folder), "limit": kept.limit, "size": size, "kinds": content})
        return
    print(escape_controls(f"{kept.folder}: {megabytes(size)} of at most {megabytes(kept.limit)}"))
    for name, entries, held in kinds:
        print(escape_controls(f"{name}: {entries:,} entries, {megabytes(held)}"))


def megabytes(size: int) -> str:
    """Format a number of bytes in megabytes.

    >>> megabytes(3 << 19)
    '1.5 MB'
    """
    return f"{size / (1 << 20):,.1f} MB"
