"""A damaged Parquet file is an error, and never the end of the process; a decompression bomb is not unpacked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.readers.reading import read, refusal

from tagwright.readers.limits import document_limit

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


def test_a_damaged_footer_does_not_end_the_process(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(TABLE, path, store_schema=False)
    done = subprocess.run([sys.executable, "-c", DAMAGE, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"read", "refused"}


def test_a_file_with_a_damaged_footer_is_refused_in_one_line(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "x.parquet")
    content = bytearray((tmp_path / "x.parquet").read_bytes())
    content[-8:-4] = (3).to_bytes(4, "little")
    (tmp_path / "x.parquet").write_bytes(content)
    assert refusal(tmp_path / "x.parquet").startswith("x.parquet: is no Parquet file, or a damaged one (")


def test_a_bomb_in_any_row_group_is_refused(tmp_path: Path) -> None:
    """The limit of 1,000 bytes and a hundred times the file are both exceeded by the second row group alone."""
    path = tmp_path / "x.parquet"
    with pq.ParquetWriter(path, pa.schema({"text": pa.string()}), compression="zstd", use_dictionary=False) as writer:
        for text in ("bees", "a" * 1_000_000):
            writer.write_table(pa.table({"text": [text]}))
    assert path.stat().st_size < 10_000
    with document_limit(1_000):
        assert refusal(path).startswith("x.parquet: holds 1,000,")


def test_a_large_row_group_that_is_packed_like_text_is_read(tmp_path: Path) -> None:
    """Sixty times the limit for a document, of many documents."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": [f"bees fly {row:05}" for row in range(4_000)]}), path, compression="zstd")
    with document_limit(1_000):
        assert len(read(path)) == 4_000


def test_lists_in_several_row_groups_are_read(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "x.parquet", row_group_size=10)
    assert [document.labels for document in read(tmp_path / "x.parquet")] == [("bee", "wasp"), ()] * 20


def test_a_column_of_maps_is_read_and_measured_row_by_row(tmp_path: Path) -> None:
    """Maps of all four rows are stored together; only that of the last one is above the limit."""
    kind = pa.map_(pa.string(), pa.list_(pa.string()))
    metadata = pa.array([[("author", ["Ann"])], None, [("author", [400 * "a"])], [("author", [2_000 * "a"])]], kind)
    pq.write_table(
        pa.table({"id": ["1", "2", "3", "4"], "title": ["Bees"] * 4, "metadata": metadata}), tmp_path / "x.parquet"
    )
    with document_limit(1_000):
        found = read(tmp_path / "x.parquet")
    assert [document.metadata for document in found] == [{"author": ("Ann",)}, {}, {"author": (400 * "a",)}]
