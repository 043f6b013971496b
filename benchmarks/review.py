"""What fifty reviewed documents are worth: a script plays a reviewer who knows the gold labels.

It goes through the requests of the review page, presses "Train the model" and scores the tagger before and after on
other documents: python benchmarks/review.py LABELLED LABELS [--unlabelled DOCS] [--stages exact_match,tfidf]
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from starlette.testclient import TestClient

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation import scores
from tagwright.methods import zero_shot
from tagwright.review.file import ReviewFile
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.refit import Refitter, refit_combiner
from tagwright.server.review.session import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.types import Document, Run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labelled", help="the first are reviewed, the next are scored")
    parser.add_argument("labels")
    parser.add_argument("--unlabelled", help="more documents under review, which nobody reviews")
    parser.add_argument("--more", type=int, default=300, help="how many of these")
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--scored", type=int, default=150)
    parser.add_argument("--stages", default="")
    options = parser.parse_args()
    vocabulary = Vocabulary.read(options.labels)
    documents = list(Corpus.read(options.labelled))
    reviewed, others = documents[: options.documents], documents[options.documents :][: options.scored]
    more = list(Corpus.read(options.unlabelled))[: options.more] if options.unlabelled else []
    config = zero_shot.Config(stages=tuple(options.stages.split(","))) if options.stages else zero_shot.Config()
    model = ServedModel("model", zero_shot.fit(vocabulary, config, reviewed), "Model")
    gold = vocabulary.gold(others, unknown="ignore")
    before = score(model.tagger, others, gold)
    with tempfile.TemporaryDirectory() as folder:
        file = ReviewFile(Path(folder) / "reviews.sqlite")
        review = Review(model, file)
        review.documents.add([*reviewed, *more])
        refitter = Refitter(review, refit_combiner)
        with TestClient(application([model], pages=ReviewPages(review, refitter=refitter))) as client:
            client.post("/review/enter", data={"name": "Script"})
            seconds = sum(judge(client, document, vocabulary) for document in reviewed)
            print(f"{len(reviewed)} documents reviewed, {seconds / len(reviewed):.2f} s each")
            print(review.decisions.statistics())
            client.post("/review/refit", data={"csrf": token(client.get("/review/overview").text)})
            while refitter.is_running:
                time.sleep(1)
        print(refitter.outcome)
        file.close()
    after = score(model.tagger, others, gold)
    print(f"nDCG@5 on {len(others)} other documents: {100 * before:.1f} before, {100 * after:.1f} after")


def judge(client: TestClient, document: Document, vocabulary: Vocabulary) -> float:
    """Accept what is right, reject what is not, add up to ten missing labels by search; returns seconds."""
    begun = time.perf_counter()
    page = client.get("/review")
    html, address = page.text, str(page.url)
    wanted = {vocabulary[place].id for place in map(vocabulary.resolve, document.labels) if place is not None}
    shown = re.findall(r'name="label" value="([^"]*)"', html)
    assert shown, "the page shows no suggestions"
    for label in shown:
        form = {"csrf": token(html), "action": "accept" if label in wanted else "reject", "label": label}
        client.post(address, data=form, follow_redirects=False)
    for label in sorted(wanted - set(shown))[:10]:
        name = vocabulary[vocabulary.index[label]].name
        assert label in client.get(f"{address}/labels", params={"q": name}).text
        client.post(address, data={"csrf": token(html), "action": "accept", "label": label}, follow_redirects=False)
    client.post(address, data={"csrf": token(html), "action": "done"}, follow_redirects=False)
    return time.perf_counter() - begun


def token(html: str) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', html)
    assert found
    return found[1]


def score(tagger: Tagger, documents: Sequence[Document], gold: Run) -> float:
    return scores.evaluate(tagger.tag(documents), gold, measures=["nDCG@5"])["nDCG@5"].value


if __name__ == "__main__":
    main()
