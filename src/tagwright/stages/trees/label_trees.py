"""Suggest labels by trees of labels over words (Parabel, Bonsai).

omikuji trains and holds them in a separate process, see stages/omikuji_process.py. Training is started by
training/linear_training.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np
from typing_extensions import Self

from tagwright.core.saved import check_files, digests, read_manifest, read_number, write_manifest
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ModelError, TagwrightError
from tagwright.stages.trees.process import Arrays, Message, read_arrays, read_fields, write_message
from tagwright.types import Run

WIDEST = 1 << 16
"The widest beam: omikuji allocates memory for all of it."

PROGRAM = "from tagwright.stages.trees.process import main; main()"


def check_omikuji() -> None:
    """Raises TagwrightError when omikuji is not installed."""
    if find_spec("omikuji") is None:
        raise TagwrightError('label trees need omikuji, which is not installed; pip install "tagwright[trees]"')


class OmikujiError(TagwrightError):
    """A request to omikuji failed. The message gives the reason, as part of a sentence."""


class OmikujiProcess:
    """A process that holds label trees.

    It ends with this object or with its parent process. Threads may share it, forked processes may not.
    """

    def __init__(self) -> None:
        check_omikuji()
        # the modules of this process, none from the working folder
        paths = os.pathsep.join(path for path in sys.path if path)
        self._said = tempfile.TemporaryFile("w+b")  # noqa: SIM115  (closed by _end)
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )
        self._owner, self._lock = os.getpid(), threading.Lock()
        self._end = weakref.finalize(self, _end, self._process, self._said, self._owner)

    def ask(self, what: str, options: dict[str, Any], arrays: Arrays = ()) -> Message:
        """The answer to a request, see `omikuji_process.Forest`. Raises OmikujiError when it fails."""
        if os.getpid() != self._owner:
            raise TagwrightError("label trees belong to the process that loaded them; load the tagger in each process")
        with self._lock:
            try:
                fields, found = self._exchange({"do": what, "options": options}, arrays)
            except BaseException:  # also on Ctrl-C: a late answer would be taken for that to the next request
                self._end()
                raise
        if "error" in fields:
            raise OmikujiError(fields["error"])
        return fields, found

    def _exchange(self, request: dict[str, Any], arrays: Arrays) -> Message:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        if not self._end.alive:
            raise OmikujiError("its process has ended; load the tagger again")
        try:
            write_message(stdin, request, arrays)
            if (fields := read_fields(stdout)) is not None:
                return fields, read_arrays(stdout, fields)
        except (BrokenPipeError, EOFError):
            pass
        raise OmikujiError(self._why())

    def _why(self) -> str:
        """Why the process ended: its last line on stderr, if any."""
        status = self._process.wait()
        self._said.seek(0)
        last = self._said.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"killed by signal {-status}; is there enough memory?" if status < 0 else last or f"exit status {status}"


def _end(process: subprocess.Popen[bytes], said: IO[bytes], owner: int) -> None:
    """End the process and free its resources, unless this is a fork of its owner."""
    if os.getpid() != owner:
        return
    process.kill()
    process.wait()
    said.close()
    if process.stdout:
        process.stdout.close()
    if process.stdin:
        with suppress(OSError):  # the rest of an interrupted request
            process.stdin.close()


class LabelTrees:
    """Parabel's or Bonsai's trees of labels. words: the width of features. beam: branches followed in each tree."""

    def __init__(self, process: OmikujiProcess, words: int, beam: int = 10) -> None:
        self.process, self.words, self.beam = process, words, beam

    def predict(self, features: Matrix, k: int) -> Run:
        """The k most probable labels of each row of features (documents, words), or as many as the beam reaches.

        None for a row without words. Scores are probabilities, 0 to 1. Raises ValueError for features of another width.
        """
        if features.shape[1] != self.words:
            raise ValueError(f"features of {features.shape[1]} words for trees over {self.words}")
        arrays = [features.indptr, features.indices, np.asarray(features.data, np.float32)]
        indptr, labels, scores = self.process.ask("predict", {"beam": self.beam, "k": k}, arrays)[1]
        return Run.of(indptr, labels, scores)

    def save(self, folder: Path) -> None:
        """Write into an existing folder. Raises TagwrightError when it cannot be written."""
        try:
            self.process.ask("save", {"folder": str(folder.absolute())})
        except OmikujiError as error:
            raise TagwrightError(f"{folder}: the label trees cannot be written ({error}); is the disk full?") from None
        write_manifest(folder, "label trees", {"beam": self.beam, "files": digests(folder)})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote. Raises ModelError when it is missing or damaged, TagwrightError without omikuji."""
        manifest = read_manifest(folder, "label trees")
        beam = read_number(folder, manifest, "beam", WIDEST)
        check_files(folder, manifest.get("files"), whole=True)  # omikuji itself does not validate them
        process = OmikujiProcess()
        try:
            return cls(process, process.ask("load", {"folder": str(folder.absolute())})[0]["words"], beam)
        except OmikujiError as error:
            raise ModelError(f"{folder}: the trees cannot be read ({error}); save the model again") from None
