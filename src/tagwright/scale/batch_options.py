"""What decides the suggestions of a batch, and the settings that must be the same when it is continued."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tagwright.core.checked import AtLeastOne, Checked
from tagwright.core.saved import read_manifest
from tagwright.errors import ConfigError

FileFormat = Literal["jsonl", "parquet"]


@dataclass(frozen=True, kw_only=True)
class BatchOptions(Checked):
    """Everything besides documents and tagger on which the files of suggestions depend."""

    k: AtLeastOne = 10
    "Labels per document, at most."

    min_confidence: float | None = None
    "Only labels that are right with this probability, as the tagger sees it."

    exclude_self: bool = False
    "Never suggest the label whose id is the document's own."

    shard_size: AtLeastOne = 20_000
    "Documents per file. A tagger computes over whole batches, so another size can change the last digit of a score."

    format: FileFormat = "jsonl"
    "JSON lines, a run file that `evaluate --run` reads, or Parquet."

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_confidence is not None and not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"min_confidence is {self.min_confidence}, expected a number from 0 to 1")

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
