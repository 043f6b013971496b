"""The suite under other instruction sets and numbers of threads: `make test-everywhere`.

Every run goes on after a failure of another; the summary at the end names them all, and the exit code is 1 where one
failed. What each run printed stands in .cache/everywhere/NAME.log.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".cache" / "everywhere"

PROCESSORS: dict[str, dict[str, str]] = {
    # OpenVINO looks at the processor itself: held to SSE4.1 by oneDNN's variable, it gives no rows at all.
    "sse41": {"ATEN_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "Nehalem", "FAISS_OPT_LEVEL": "generic"},
    "avx2": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "OPENBLAS_CORETYPE": "Haswell",
        "FAISS_OPT_LEVEL": "avx2",
    },
    "avx512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "ATEN_CPU_CAPABILITY": "avx512"},
    "native": {},
}
"avx512 is without bfloat16; native is the processor as it is. One that has less than is asked for does what it can."

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")

IN_BROWSER = ("tests/server/test_browser.py", "tests/server/test_docs_browser.py")
"Tests that are not run again: what a browser shows does not depend on how this process computes."


def main() -> None:
    """Run what is asked for, everything by default."""
    parser = argparse.ArgumentParser(prog="python -m tools.everywhere", description=__doc__)
    parser.add_argument("--processors", nargs="*", choices=[*PROCESSORS], default=[*PROCESSORS])
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("paths", nargs="*", help="tests; everything by default")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = [(processor, threads) for threads in options.threads for processor in options.processors]
    cores = os.cpu_count() or 1  # a process of tests keeps about one busy, with however many threads
    arguments = ["--numprocesses", str(cores // min(cores, len(wanted))), "--dist", "loadfile", *options.paths]
    with ThreadPoolExecutor(cores) as pool:
        found = list(pool.map(lambda each: run_suite(each[0], each[1], arguments), wanted))
    report(found)


def run_suite(processor: str, threads: int, arguments: Sequence[str]) -> tuple[str, bool, str]:
    """Run pytest once; return the name of the run, whether it passed, and the last line that it printed.

    threads: those of torch, OpenMP, BLAS and Rust. arguments: of pytest.
    """
    name = f"{processor}-{threads}"
    place, log, start = FOLDER / name, FOLDER / f"{name}.log", time.monotonic()
    place.mkdir(parents=True, exist_ok=True)
    own = {
        **dict.fromkeys(THREADS, str(threads)),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(place / "hypothesis"),
        "PYTHONPATH": str(ROOT / "src"),
        "TMPDIR": str(place),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(place / "pytest")]
    command += [f"--ignore={path}" for path in IN_BROWSER]
    with log.open("w", encoding="utf-8") as file:
        environment = {**os.environ, **PROCESSORS[processor], **own}
        done = subprocess.run(
            [*command, *arguments], cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    shutil.rmtree(place, ignore_errors=True)
    last = lines[-1].strip("= ") if lines else "nothing was printed"
    print(f"{name:10} {'passed' if done.returncode == 0 else 'FAILED'} after {time.monotonic() - start:.0f} s")
    return name, done.returncode == 0, last


def report(found: Sequence[tuple[str, bool, str]]) -> None:
    """Print the summary. Exits with 1 where a run failed."""
    for name, passed, last in found:
        print(f"{name:10} {'passed' if passed else 'FAILED'}  {last}")
    failed = [name for name, passed, _ in found if not passed]
    for name in failed:  # whole: where the suite ran may be out of reach for whoever reads this
        print(f"\n{name}:", (FOLDER / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-20_000:], sep="\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
