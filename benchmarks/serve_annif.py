"""A corpus in, servers of Annif out that have learnt from its training set: by its own commands, in its environment."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks import corpora
from benchmarks.peer_environments import python
from benchmarks.peer_runners import annif_project
from benchmarks.serve_load import Service

PROJECTS = ("tfidf", "mllm")
DOCUMENTS = 400
"Of the training set: Annif's guide says that mllm learns from some hundreds."


@contextmanager
def annif(folder: Path, corpus: str) -> Iterator[list[Service]]:
    """A server with a project for each backend, behind one address: gunicorn with one worker, as its guide has it."""
    environment = prepared(folder, corpus)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    options = ["--worker-class", "uvicorn.workers.UvicornWorker", "--workers", "1", "--timeout", "600"]
    command = [
        str(python("annif").with_name("gunicorn")),
        *options,
        "--bind",
        f"127.0.0.1:{port}",
        "annif:create_cx_app()",
    ]
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(600):
            with socket.socket() as connection:
                if connection.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.5)
        yield [Service(("127.0.0.1", port), project, process.pid) for project in PROJECTS]
    finally:
        process.terminate()
        process.wait()


def prepared(folder: Path, corpus: str) -> dict[str, str]:
    """Load the vocabulary and train the projects; the variables that say where they are."""
    (folder / "projects.cfg").write_text(annif_project.projects("en"), encoding="utf-8")
    records = [{"id": each.id, "names": each.names, "broader": each.broader} for each in corpora.labels(corpus)]
    (folder / "labels.ttl").write_text(annif_project.skos(records, "en"), encoding="utf-8")
    train = corpora.documents(corpus, "train", DOCUMENTS)
    documents = [{"id": each.id, "title": each.title, "text": each.text, "labels": each.labels} for each in train]
    annif_project.write(folder / "train.jsonl", documents)
    environment = {
        **os.environ,
        "ANNIF_DATADIR": str(folder / "data"),
        "ANNIF_PROJECTS": str(folder / "projects.cfg"),
        "ANNIF_CONFIG": "annif.default_config.Config",
    }
    for arguments in (["load-vocab", "labels", "labels.ttl"], *(["train", name, "train.jsonl"] for name in PROJECTS)):
        subprocess.run([python("annif").with_name("annif"), *arguments], cwd=folder, env=environment, check=True,
                       capture_output=True)  # fmt: skip
    return environment
