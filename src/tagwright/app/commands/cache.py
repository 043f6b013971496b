"""What the cache of embeddings holds, printed for `tagwright cache`."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from tagwright.core.terminal import escaped
from tagwright.encoders import cache

SHOWN = 20
"Encoders that are printed."


def show_cache(*, clear: bool, as_json: bool) -> None:
    """Print encoders, vectors and sizes; or clear the cache and print the freed size."""
    if clear:
        freed = cache.clear()
        print(json.dumps({"freed": freed}) if as_json else f"freed {megabytes(freed)}")
        return
    entries, folder, limit = cache.contents(), cache.cache_folder() / "embeddings", cache.cache_limit()
    if as_json:
        content = [{**entry._asdict(), "used": _when(entry.used)} for entry in entries]
        print(escaped(json.dumps({"folder": str(folder), "limit": limit, "encoders": content}, indent=1)))
        return
    total = sum(entry.size for entry in entries)
    print(escaped(f"{folder}: {len(entries)} encoders, {megabytes(total)} of at most {megabytes(limit)}"))
    for entry in entries[:SHOWN]:
        vectors = "damaged, or of an older version" if entry.vectors is None else f"{entry.vectors:,} vectors"
        print(escaped(f"{entry.fingerprint}  {vectors}, {megabytes(entry.size)}, used {_when(entry.used)}"))
    if len(entries) > SHOWN:
        print(f"and {len(entries) - SHOWN} more, used before these (--json prints all)")


def megabytes(size: int) -> str:
    """Bytes in words.

    >>> megabytes(3 << 19)
    '1.5 MB'
    """
    return f"{size / (1 << 20):,.1f} MB"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
