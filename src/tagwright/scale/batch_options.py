"""What decides the suggestions of a batch, and the settings that must be the same when it is continued."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tagwright.combining.acceptance import SuggestOptions
from tagwright.core.checked import AtLeastOne
from tagwright.core.saved import read_manifest

FileFormat = Literal["jsonl", "parquet"]


@dataclass(frozen=True, kw_only=True)
class BatchOptions(SuggestOptions):
    """Everything besides documents and tagger on which the files of suggestions depend."""

    shard_size: AtLeastOne = 20_000
    "Documents per file. A tagger computes over whole batches, so another size can change the last digit of a score."

    format: FileFormat = "jsonl"
    "JSON lines, a run file that `evaluate --run` reads, or Parquet."

    def settings(self, model: Path) -> dict[str, Any]:
        """What is compared when a batch is continued. Raises ModelError where no tagger is saved."""
        return {"model": model_digest(model), **asdict(self)}


def model_digest(model: Path) -> str:
    """A hash of a saved tagger: of its manifests, which hold the hashes of its other files."""
    read_manifest(model, "tagger")
    found = hashlib.blake2b(digest_size=16)
    for file in sorted(model.rglob("manifest.json")):
        content = file.read_bytes()
        found.update(f"{file.relative_to(model).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()
