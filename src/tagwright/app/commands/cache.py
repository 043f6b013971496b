"""The command `cache`: print or clear the contents of the cache."""

import json
from datetime import UTC, datetime

from tagwright.core.cache import user_cache
from tagwright.core.terminal import escaped


def show_cache(*, clear: bool, as_json: bool) -> None:
    """Print the entries and sizes of each kind; or clear the cache and print the freed size."""
    cache = user_cache()
    if clear:
        freed = cache.clear()
        print(json.dumps({"freed": freed}) if as_json else f"freed {megabytes(freed)}")
        return
    kinds, size = cache.contents(), cache.size()
    if as_json:
        content = [{**kind._asdict(), "used": _when(kind.used)} for kind in kinds]
        found = {"folder": str(cache.folder), "limit": cache.limit, "size": size, "kinds": content}
        print(escaped(json.dumps(found, indent=1)))
        return
    print(escaped(f"{cache.folder}: {megabytes(size)} of at most {megabytes(cache.limit)}"))
    for kind in kinds:
        print(escaped(f"{kind.name}: {kind.entries:,} entries, {megabytes(kind.size)}, used {_when(kind.used)}"))


def megabytes(size: int) -> str:
    """Format a number of bytes in megabytes.

    >>> megabytes(3 << 19)
    '1.5 MB'
    """
    return f"{size / (1 << 20):,.1f} MB"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
