"""Tag rows of Arrow in this process: `python -m benchmarks.arrow FOLDER DOCUMENTS`; `million --arrow` starts it.

FOLDER holds what `million` prepares. Prints the documents per second from the first batch on, which loads the tagger.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    import pyarrow as pa

    from tagwright.batch import ArrowTagger

    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    with (folder / f"documents-{count}.jsonl").open(encoding="utf-8") as lines:
        rows = pa.Table.from_pylist([json.loads(line) for line in lines])
    tagger, start = ArrowTagger(folder / "model"), time.monotonic()
    tagged = sum(tagger(batch).num_rows for batch in rows.to_batches(max_chunksize=2000))
    seconds = time.monotonic() - start
    print(json.dumps({"seconds": round(seconds, 1), "documents/s": round(tagged / seconds, 1)}))


if __name__ == "__main__":
    main()
