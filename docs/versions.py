"""List the versions of these pages for the choice in their sidebar: `python docs/versions.py FOLDER`.

FOLDER has a folder of pages for each release, such as 0.9.0. It gets versions.json, newest first, and an index.html
that leads to the newest.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path


def write(folder: Path) -> list[str]:
    """Write both files, and return the versions. Raises ValueError where there are no pages of a release."""
    names = (path.parent.name for path in folder.glob("*/index.html"))
    found = [name for name in names if re.fullmatch(r"\d+\.\d+\.\d+", name)]
    if not found:
        raise ValueError(f"{folder}: no pages of a release, expected folders such as 0.9.0 with an index.html")
    found.sort(key=lambda name: tuple(map(int, name.split("."))), reverse=True)
    (folder / "versions.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
    to = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={found[0]}/"><title>Tagwright</title>\n'
    (folder / "index.html").write_text(f"<!doctype html>{to}", encoding="utf-8")
    return found


if __name__ == "__main__":
    write(Path(sys.argv[1]))
