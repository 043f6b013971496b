"""The options of a batch, and its folder: settings, and for each shard a file of suggestions and a record.

`manifest.json` holds the settings. `shard-000003.jsonl` is put in place in one step, and after it
`shard-000003.json`, which says what the shard was made of and how to tell whether its file is whole. `errors.jsonl` is
put together from these at the end. Several processes may write to the same folder.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tagwright.batch.shards import Shard, Unread
from tagwright.core.atomic import OccupiedError, hold_lock, replace_file, replace_locked, report_write_errors
from tagwright.core.checked import AtLeastOne, show
from tagwright.core.saved import digest, read_manifest, write_manifest_file
from tagwright.data.document_file import DocumentFile
from tagwright.errors import TagwrightError
from tagwright.tagger.acceptance import SuggestOptions

FileFormat = Literal["jsonl", "trec", "csv", "parquet"]


@dataclass(frozen=True, kw_only=True)
class BatchOptions(SuggestOptions):
    """The options that determine the files of suggestions, beside documents and tagger."""

    shard_size: AtLeastOne = 2_000
    """Documents per file. Few, so that some thousands of documents keep several processes busy. A tagger computes over
    whole batches, so another size can change the last digit of a score."""

    format: FileFormat = "jsonl"
    "JSON lines or a run of TREC, which `evaluate --run` reads, CSV with a row for each suggestion, or Parquet."

    def settings(self, tagger_digest: str) -> dict[str, Any]:
        """Return the settings that a continued batch must keep. tagger_digest: see `model_digest`."""
        lists = {"only": list(self.only), "without": list(self.without)}  # as JSON has them
        return {"model": tagger_digest, **asdict(self), **lists}


def model_digest(model: Path) -> str:
    """A hash of a saved tagger: of its manifests, which hold the hashes of its other files."""
    read_manifest(model, "tagger")
    hashed = hashlib.blake2b(digest_size=16)
    for file in sorted(model.rglob("manifest.json")):
        content = file.read_bytes()
        hashed.update(f"{file.relative_to(model).as_posix()} {len(content)}\n".encode())
        hashed.update(content)
    return hashed.hexdigest()


KIND = "batch"
"What the manifest says that the folder holds."


class OutputFolder:
    """The folder of the suggestions of a batch."""

    def __init__(self, folder: Path, format: FileFormat) -> None:  # noqa: A002
        self.folder, self._format = folder, format
        self._manifest = folder / "manifest.json"

    def is_claimed(self) -> bool:
        """Whether a batch was started in the folder."""
        return self._manifest.exists()

    def claim(self, settings: Mapping[str, Any]) -> None:
        """Start a batch in the folder, or continue one with the same settings.

        Raises TagwrightError saying which settings differ, and for a folder that holds something else.
        """
        with report_write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with hold_lock(self._manifest):
                if not self.is_claimed():
                    if any(not path.name.startswith(".") for path in self.folder.iterdir()):
                        problem = "exists and is not the folder of a batch; choose another place"
                        raise TagwrightError(f"{self.folder}: {problem}")
                    with replace_locked(self._manifest) as temporary:
                        write_manifest_file(temporary, KIND, {"settings": dict(settings)})
        there = read_manifest(self.folder, KIND).get("settings") or {}
        different = [name for name in sorted({*settings, *there}) if settings.get(name) != there.get(name)]
        if different:
            pairs = (f"{name} {show(there.get(name))}, now {show(settings.get(name))}" for name in different)
            problem = f"holds a batch with other settings ({'; '.join(pairs)})"
            raise TagwrightError(f"{self.folder}: {problem}; give the same ones or choose another folder")

    def file(self, number: int) -> Path:
        """The file of suggestions of a shard."""
        return self.folder / f"shard-{number:06}.{self._format}"

    def is_whole(self, shard: Shard) -> bool:
        """Whether the shard is tagged, from the same documents, and its file as it was written."""
        record, file = self._record(shard.number), self.file(shard.number)
        return record.get("input") == shard.digest and file.is_file() and digest(file) == record.get("digest")

    def keep(self, shard: Shard, suggestions: Path, failed: Sequence[Unread]) -> int:
        """Put the file of suggestions of a shard in place. failed: documents that could not be tagged.

        Returns the number of documents without suggestions. Raises TagwrightError when it cannot be written,
        OccupiedError as `check_kept` does.
        """
        file, record_file = self.file(shard.number), self._record_file(shard.number)
        with report_write_errors(file), hold_lock(file):
            self.check_kept(shard)
            with replace_locked(file) as temporary:
                shutil.copyfile(suggestions, temporary)
                known = {"bytes": temporary.stat().st_size, "digest": digest(temporary)}
            errors = [problem._asdict() for problem in (*shard.unread, *failed)]
            made_of = {"documents": shard.size, "input": shard.digest, "ids": _ids(shard)}
            record = {"shard": shard.number, **made_of, **known, "errors": errors}
            with replace_file(record_file) as temporary:
                temporary.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")
        return len(errors)

    def check_kept(self, shard: Shard) -> None:
        """Raise OccupiedError where the file of a shard holds suggestions for a document that the shard lacks.

        Documents that are new or were changed or repaired are tagged again; the suggestions for all others stay.
        """
        record = self._record(shard.number)
        file = self.file(shard.number)
        if not file.exists() or record.get("input") == shard.digest:
            return
        lost = sorted({*record.get("ids", ())} - {*_ids(shard)})
        if lost:
            more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
            raise OccupiedError(
                f"{file}: holds suggestions for {show(lost[0])}{more}, which these documents lack at this place; give "
                "all documents in the same order, choose another folder, or remove this file"
            )

    def check_last(self, shards: int) -> None:
        """Raise TagwrightError where shards beyond the last of the input are there, from more or other documents."""
        more = [number for number in self._numbers() if number >= shards]
        if more:
            raise TagwrightError(
                f"{self.folder}: holds {self.file(more[0]).name}, but these documents end before it; give all of them, "
                "choose another folder, or remove the files of this shard and the later ones"
            )

    def finish(self) -> None:
        """Put together the errors of all shards that are there."""
        path = self.folder / "errors.jsonl"
        with replace_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            for number in self._numbers():  # read while the file is locked: the last to finish has all of them
                for error in self._record(number).get("errors", ()):
                    file.write(json.dumps({"shard": number, **error}, ensure_ascii=False) + "\n")

    def _numbers(self) -> list[int]:
        """The numbers of the shards that have a record, in order; files of others are passed over."""
        numbers = (path.stem.removeprefix("shard-") for path in self.folder.glob("shard-*.json"))
        return sorted(int(number) for number in numbers if number.isdecimal())

    def _record_file(self, number: int) -> Path:
        return self.folder / f"shard-{number:06}.json"

    def _record(self, number: int) -> Mapping[str, Any]:
        """What is known of a shard; empty where its record is missing or damaged."""
        with suppress(OSError, ValueError, RecursionError):
            record = json.loads(self._record_file(number).read_text(encoding="utf-8"))
            return record if isinstance(record, dict) else {}
        return {}


def _ids(shard: Shard) -> list[str]:
    """The ids of the documents of a shard."""
    with closing(DocumentFile(shard.path)) as documents:
        return list(documents.ids())
