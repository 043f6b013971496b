"""Save and load a stage, a step, or a part of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tagwright.core.saved import ABOUT, SavedState, checksum, read_state, write_state

KIND = "part"
"What its manifest says."


def saved(part: Any, folder: Path) -> SavedState:
    """The state of a part as it comes back from a folder."""
    folder.mkdir(exist_ok=True)
    write_state(folder, KIND, part.state())
    return read_state(folder, KIND)


def again(part: Any, *labels: Any) -> Any:
    """The part after it was saved and loaded. labels: those of a stage or step."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return type(part).from_state(saved(part, Path(folder)), *labels)


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest of a saved tagger as somebody would who means harm: its checksum is right again."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    content = {name: value for name, value in manifest.items() if name not in ABOUT}
    path.write_text(json.dumps({**manifest, "checksum": checksum(content)}), encoding="utf-8")
