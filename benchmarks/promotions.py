"""Promote versions in turn while clients ask a server of its own: every request must be answered, by a named version.

python -m benchmarks.promotions [PROMOTIONS] [CLIENTS], 100 and 64 if nothing is given, prints what was counted.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tagwright import Models, zero_shot

LABELS = {"0001": ["Bees", "Orchards", "Tax law"], "0002": ["Bees", "Orchards"]}
TEXT = json.dumps({"text": "Honey bees, orchards and a tax law."})
PAUSE = 0.25
"Seconds between two promotions, at least."


def main(promotions: int, clients: int) -> dict[str, object]:
    """Serve two versions, promote each in turn, and count the answers."""
    counts, lost, stop = Counter[str](), list[str](), threading.Event()
    with TemporaryDirectory() as folder:
        models = Models(Path(folder) / "bees")
        for labels in LABELS.values():
            models.add(zero_shot(labels, stages=["exact_match", "tfidf"], language="en"))
        command = [sys.executable, "-m", "tagwright", "serve", "--model", str(models.folder), "--watch", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline().split(":")[-1].split("/")[0])
            threads = [threading.Thread(target=_ask, args=(port, stop, counts, lost)) for _ in range(clients)]
            for thread in threads:
                thread.start()
            seen = [_promoted(models, number % 2 + 1, port) for number in range(1, promotions + 1)]
            stop.set()
            for thread in threads:
                thread.join()
            server.terminate()
    return {
        "promotions": len(seen), "longest until served, s": round(max(seen), 2), "clients": clients,
        "answered": dict(counts), "lost": len(lost), "first lost": lost[:3],
    }  # fmt: skip


def _promoted(models: Models, version: int, port: int) -> float:
    """Promote a version and wait until it answers; the seconds that it took."""
    start = time.monotonic()
    name = models.promote(version).name
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while True:
        connection.request("GET", "/api/models")
        if json.loads(connection.getresponse().read())["models"][0]["version"] == f"bees {name}":
            break
        time.sleep(0.01)
    connection.close()
    seconds = time.monotonic() - start
    time.sleep(max(0.0, PAUSE - seconds))
    return seconds


def _ask(port: int, stop: threading.Event, counts: Counter[str], lost: list[str]) -> None:
    """Ask until told to stop. An answer is lost if it does not come or is not that of the version that it names."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while not stop.is_set():
        try:
            connection.request("POST", "/api/suggest", TEXT, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            answer = json.loads(reply.read())
            version = answer["version"].removeprefix("bees ")
            if {each["id"] for each in answer["suggestions"]} != set(LABELS[version]):
                raise ValueError(f"{version} answered {answer}")
            counts[version] += 1
        except Exception as error:
            lost.append(repr(error))
            connection.close()


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]] + [100, 64][len(sys.argv) - 1 :]
    print(json.dumps(main(*given)))
