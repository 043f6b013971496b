"""The sizes of the columns of a Parquet file, read from its footer without Arrow, which would end the process.

Arrow checks the metadata of a column when they are asked for, in a function that may not throw: a damaged footer would
abort the interpreter. The footer is a FileMetaData of parquet.thrift in Thrift's compact protocol; of it only numbers,
lists and structs are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEEPEST = 64
"How many structs and lists may be nested, as in Thrift's own readers; the footer of a sound file has below ten."

_TAIL = 8
"Bytes after the footer: its size and PAR1."

_ROW_GROUPS, _COLUMNS, _METADATA, _UNPACKED, _PACKED = 4, 1, 3, 6, 7
"Numbers of fields in parquet.thrift, each in the struct that the one before holds."

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 1, 2, 3, 7, 8, 9, 10, 11, 12, 13
_INTEGERS = (4, 5, 6)
_WIDTHS = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8, _UUID: 16}
"Bytes of values that are skipped; a truth value has one only in a list, else it is part of the field's type."


def column_sizes(path: Path) -> Iterator[tuple[int, int]]:
    """Bytes of each column of each row group, as (uncompressed, compressed). Raises ValueError for a damaged footer.

    The file must end like Parquet. A column whose metadata are encrypted or in another file is left out.
    """
    try:
        for group in _Compact(_footer(path)).struct()[_ROW_GROUPS]:
            for column in group[_COLUMNS]:
                if metadata := column.get(_METADATA):
                    yield int(metadata[_UNPACKED]), int(metadata[_PACKED])
    except (
        AttributeError,
        LookupError,
        TypeError,
    ) as error:  # the end is reached, or a value is of another type
        raise ValueError(f"its footer is damaged ({type(error).__name__})") from None


def _footer(path: Path) -> bytes:
    with path.open("rb") as file:
        end = file.seek(0, 2) - _TAIL
        file.seek(max(0, end))
        size = int.from_bytes(file.read(4), "little")
        file.seek(max(0, end - size))
        return file.read(size)


class _Compact:
    """Values in Thrift's compact protocol. Methods raise IndexError at the end, ValueError for an unknown type."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The fields by number; those that are skipped are None."""
        fields: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            step, kind = kind >> 4, kind & 15
            number = number + step if step else self._integer()
            fields[number] = None if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("its footer is damaged (nested too deep)")
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind == _MAP:
            return self._map(depth + 1)
        return self._skip(self._varint() if kind == _BINARY else _WIDTHS[kind])

    def _list(self, depth: int) -> list[Any]:
        size, kind = divmod(self._byte(), 16)
        size = self._varint() if size == 15 else size
        return [self._value(kind, depth) for _ in range(size)]

    def _map(self, depth: int) -> None:
        """parquet.thrift has no maps, but a later version may: they are skipped."""
        if size := self._varint():
            kinds = divmod(self._byte(), 16)
            for _ in range(size):
                for kind in kinds:
                    self._value(kind, depth)

    def _skip(self, size: int) -> None:
        self._place += size
        if self._place > len(self._content):
            raise IndexError

    def _integer(self) -> int:
        """Zigzag: 0, -1, 1, -2, ..."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        """Seven bits a byte, the lowest first. Raises ValueError for more than 64 bits."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("its footer is damaged (a number of more than 64 bits)")

    def _byte(self) -> int:
        byte = self._content[self._place]
        self._place += 1
        return byte
