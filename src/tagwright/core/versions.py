"""A folder of models, each saved in a folder of its own, and a file that names the one in use.

Such as models/2026-11-28 and models/2026-11-30, beside models/current with the line "2026-11-28": to put the other one
in use, write its name there. It is a file since not every system has symbolic links.
"""

from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from tagwright.core.atomic import MANIFEST, replace_file

FILE = "current"


def in_use(folder: Path | str) -> Path:
    """The model in use of a folder of models, which `current` names; any other folder itself."""
    file = Path(folder) / FILE
    return Path(folder) / file.read_text(encoding="utf-8").strip() if file.is_file() else Path(folder)


def model_names(folder: Path | str) -> list[str]:
    """The names of the models in a folder, in their order."""
    return sorted(path.parent.name for path in Path(folder).glob(f"[!.]*/{MANIFEST}"))


def put_in_use(place: Path) -> None:
    """Write the name of a model into the file `current` beside it. Raises TagwrightError where that cannot be."""
    with replace_file(place.with_name(FILE)) as temporary:
        temporary.write_text(f"{place.name}\n", encoding="utf-8")


def new_place(folder: Path) -> Path:
    """A place for a further model: today's date and a number."""
    today = datetime.now(UTC).date().isoformat()
    places = (folder / f"{today}-{number:02}" for number in count(1))
    return next(place for place in places if not place.exists())


def saved_at(folder: Path) -> datetime:
    """When the object in a folder was saved."""
    return datetime.fromtimestamp((folder / MANIFEST).stat().st_mtime, UTC)
