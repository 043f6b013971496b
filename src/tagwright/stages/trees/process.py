"""The program of the process that omikuji runs in.

omikuji logs on stdout, draws bars on stderr, and aborts its process when it fails: all of that is confined to this
process. A message is a line of JSON, whose "arrays" gives type and length of each array that follows it. When standard
input ends, the parent is gone: the process ends too, whatever it is doing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Sequence[NDArray[Any]]
Message: TypeAlias = "tuple[dict[str, Any], Arrays]"


def write_message(stream: IO[bytes], fields: dict[str, Any], arrays: Arrays = ()) -> None:
    """Write one message and flush it. arrays: one-dimensional."""
    kinds = [(array.dtype.str, len(array)) for array in arrays]
    stream.write(json.dumps({**fields, "arrays": kinds}).encode() + b"\n")
    for array in arrays:
        stream.write(np.ascontiguousarray(array).data)
    stream.flush()


def read_fields(stream: IO[bytes]) -> dict[str, Any] | None:
    """The line of the next message; None where the stream ends."""
    line = stream.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def read_arrays(stream: IO[bytes], fields: dict[str, Any]) -> Arrays:
    """The arrays that follow the line. Raises EOFError where the stream ends within one."""
    return [_read_array(stream, np.dtype(kind), length) for kind, length in fields["arrays"]]


def _read_array(stream: IO[bytes], dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    size = dtype.itemsize * length
    data = stream.read(size)
    if len(data) < size:
        raise EOFError(f"{len(data)} bytes of an array of {size}")
    return np.frombuffer(data, dtype)


def main() -> None:
    """Answer requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    requests, answers, nowhere = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)  # omikuji logs here from its import onwards
    queue: SimpleQueue[Message] = SimpleQueue()
    threading.Thread(target=_receive, args=(os.fdopen(requests, "rb"), queue), daemon=True).start()
    forest = Forest()
    with os.fdopen(answers, "wb") as stream:
        while True:
            fields, arrays = queue.get()
            try:
                found, results = getattr(forest, fields["do"])(arrays, **fields["options"])
            except Exception as error:
                found, results = {"error": f"{type(error).__name__}: {error}"}, []
            write_message(stream, found, results)


def _receive(stream: IO[bytes], queue: SimpleQueue[Message]) -> None:
    """Read ahead, so that the end of the stream is noticed even while omikuji works."""
    folder = None
    while (fields := read_fields(stream)) is not None:
        folder = fields["options"].get("scratch", folder)
        try:
            queue.put((fields, read_arrays(stream, fields)))
        except EOFError:
            break
    if folder:
        for _ in range(2):  # the other thread may write its file after the first has listed what there is
            shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


class Forest:
    """The trees of this process and the requests to them: arrays and options in, fields and arrays out."""

    model: Any = None

    def grow(
        self, arrays: Arrays, scratch: str, labels: int, words: int, settings: dict[str, Any], workers: int
    ) -> Message:
        """Learn from documents. arrays: indptr, indices, data of (documents, words); indptr, labels of the gold labels.

        scratch: an existing folder for a file in the format of the Extreme Classification repository.
        """
        import omikuji

        path = Path(scratch) / "documents.txt"
        with path.open("w", encoding="ascii") as file:
            file.write(f"{len(arrays[0]) - 1} {words} {labels}\n")
            file.writelines(_lines(*arrays))
        chosen = omikuji.Model.default_hyper_param()
        for name, value in settings.items():
            setattr(chosen, name, value)
        self.model = omikuji.Model.train_on_data(str(path), chosen, workers)
        return self._size()

    def load(self, arrays: Arrays, folder: str) -> Message:  # noqa: ARG002
        """Read what `save` wrote."""
        import omikuji

        self.model = omikuji.Model.load(folder)
        return self._size()

    def save(self, arrays: Arrays, folder: str) -> Message:  # noqa: ARG002
        """Write into an existing folder."""
        self.model.save(folder)
        return {}, []

    def predict(self, arrays: Arrays, beam: int, k: int) -> Message:
        """The k best labels of each row. arrays: indptr, indices, data of (documents, words). Out: a Run's arrays."""
        found = [self.model.predict(row, beam, k) if row else [] for row in _rows(*arrays)]
        pairs = [pair for row in found for pair in row]
        labels = np.fromiter((label for label, _ in pairs), np.int32, len(pairs))
        scores = np.fromiter((score for _, score in pairs), np.float32, len(pairs))
        return {}, [np.cumsum([0, *map(len, found)], dtype=np.int64), labels, scores]

    def _size(self) -> Message:
        return {"words": int(self.model.n_features)}, []


def _rows(indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]) -> Iterator[list[tuple[int, float]]]:
    """Words and weights of each document."""
    for start, end in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        yield list(zip(indices[start:end].tolist(), data[start:end].tolist(), strict=True))


def _lines(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], starts: NDArray[Any], labels: NDArray[Any]
) -> Iterator[str]:
    """Labels and words of each document."""
    for row, words in enumerate(_rows(indptr, indices, data)):
        weights = " ".join(f"{word}:{weight:.6g}" for word, weight in sorted(words))
        yield f"{','.join(map(str, labels[starts[row] : starts[row + 1]].tolist()))} {weights}\n"
