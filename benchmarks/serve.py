"""How many requests a running server answers, and how fast: one document each, at several numbers of clients.

python benchmarks/serve.py http://127.0.0.1:8765 DOCS --project NAME [--clients 1 8 64] [--seconds 10] [--pid PID]
"""

from __future__ import annotations

import argparse
import http.client
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from tagwright.data.corpus import Corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("documents")
    parser.add_argument("--project", required=True)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--characters", type=int, default=2000, help="of each text")
    parser.add_argument("--pid", type=int, help="of the server, to show its memory")
    options = parser.parse_args()
    texts = [document.text[: options.characters] for document in Corpus.read(options.documents)]
    bodies = [urlencode({"text": text}).encode() for text in texts]
    print("clients  answers/s  p50 ms  p95 ms  p99 ms  statuses" + ("  memory MB" if options.pid else ""))
    for clients in options.clients:
        seconds, statuses, took = load(options.address, options.project, bodies, clients, options.seconds)
        seconds.sort()
        p50, p95, p99 = (1000 * seconds[int(share * (len(seconds) - 1))] for share in (0.5, 0.95, 0.99))
        memory = f"  {resident(options.pid):9.0f}" if options.pid else ""
        rate = statuses[200] / took
        print(f"{clients:7d}  {rate:9.1f}  {p50:6.0f}  {p95:6.0f}  {p99:6.0f}  {dict(statuses)}{memory}", flush=True)


def load(
    address: str, project: str, bodies: Sequence[bytes], clients: int, seconds: float
) -> tuple[list[float], Counter[int], float]:
    """Seconds of each answer, its statuses, and how long all took: every client asks again when it is answered."""
    found: list[float] = []
    statuses: Counter[int] = Counter()
    begun = time.perf_counter()

    def client(number: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        turn = number * 7919
        while time.perf_counter() - begun < seconds:
            start = time.perf_counter()
            connection.request("POST", f"/v1/projects/{project}/suggest", bodies[turn % len(bodies)], headers)
            answer = connection.getresponse()
            answer.read()
            found.append(time.perf_counter() - start)
            statuses[answer.status] += 1
            turn += 1
        connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, statuses, time.perf_counter() - begun


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


if __name__ == "__main__":
    main()
