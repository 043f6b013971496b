"""Sizes in the footer are those that Arrow reads; a damaged footer is an error, and never the end of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.readers.reading import refusal

from tagwright.readers.documents.parquet_footer import column_sizes

TABLE = pa.table({"text": ["bees fly", "banks lend"] * 20, "labels": [["bee", "wasp"], []] * 20, "year": range(40)})

DAMAGE = """
import sys
from pathlib import Path
from tagwright.errors import TagwrightError
from tagwright.readers.documents.tables import read_parquet
path, sound = Path(sys.argv[1]), Path(sys.argv[1]).read_bytes()
footer = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
for place in range(footer, len(sound)):
    damaged = bytearray(sound)
    damaged[place] ^= 1
    path.write_bytes(damaged)
    try:
        list(read_parquet(path))
        print("read")
    except TagwrightError as error:
        assert "\\n" not in str(error), error
        print("refused")
"""


def test_the_sizes_are_those_that_arrow_reads(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(TABLE, path, row_group_size=2, compression="zstd")
    groups = map((metadata := pq.read_metadata(path)).row_group, range(metadata.num_row_groups))
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    assert len(columns) == 20 * 3  # more than 14 elements: their number has a byte of its own
    assert list(column_sizes(path)) == [
        (column.total_uncompressed_size, column.total_compressed_size) for column in columns
    ]


def test_a_damaged_footer_does_not_end_the_process(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(TABLE, path, store_schema=False)
    done = subprocess.run([sys.executable, "-c", DAMAGE, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"read", "refused"}


@pytest.mark.parametrize(
    ("footer", "problem"),
    [
        (b"", "IndexError"),
        (b"\x00", "KeyError"),  # no row groups
        (b"\x45\x02\x00", "TypeError"),  # a number in place of the row groups
        (b"\x48\x7fbees", "IndexError"),  # a text longer than the footer
        (b"\x4e\x00", "KeyError"),  # a type that Thrift has not
        (b"\x46" + b"\xff" * 10, "a number of more than 64 bits"),
        (b"\x49" + b"\x19" * 100, "nested too deep"),
    ],
)
def test_a_footer_that_is_none_is_damaged(footer: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match=rf"^its footer is damaged \({problem}\)$"):
        list(column_sizes(path))


def test_what_a_later_version_may_add_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    metadata = b"\x66\x14\x16\x0a\x00"  # field 6 is 10, field 7 is 5
    group = b"\x19\x1c" + b"\x3c" + metadata + b"\x00" + b"\x00"  # a list of one column, whose field 3 they are
    added = b"\x1b\x01\x88\x01a\x01b" + b"\x11\x17" + bytes(8)  # {"a": "b"}, true, a double: fields 1 to 3
    footer = added + b"\x19\x1c" + group + b"\x00"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert list(column_sizes(path)) == [(10, 5)]


def test_a_file_with_a_damaged_footer_is_refused_in_one_line(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "x.parquet")
    content = bytearray((tmp_path / "x.parquet").read_bytes())
    content[-8:-4] = (3).to_bytes(4, "little")
    (tmp_path / "x.parquet").write_bytes(content)
    assert refusal(tmp_path / "x.parquet").startswith("x.parquet: is no Parquet file, or a damaged one (")
