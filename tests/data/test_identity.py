"""Where documents are found by their ids: each place says why the id is enough, or what compares the texts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.sources import modules

TEXTS_COMPARED = {
    "review/documents.py": "a document of a review is its id and its text",
    "review/applied.py": "`find` compares the texts",
    "review/merging.py": "`first_id` compares the texts; exports of decisions hold none",
    "review/export.py": "`find` compares the texts",
    "data/run_files.py": "`fitting` compares the texts",
    "batch/shards.py": "the digest of a shard is over ids and texts",
    "evaluation/description.py": "copies are found by `text_key`",
    "evaluation/dataset.py": "qrels name documents by id; documents of the training are found by `text_key`",
}
WITHIN_ONE_REVIEW = {"server/review/listing.py", "server/review/page.py", "server/review/review.py"}
"Ids of the review file, which has one text for each."
IDS_ALONE = {
    "data/trec.py": "TREC's formats hold no texts",
    "data/published.py": "published candidates name documents by id, and hold no texts",
    "app/commands/evaluate.py": "the documents that were just read",
    "app/inputs.py": "a document that comes twice is refused",
    "app/commands/read.py": "prints qrels of the documents that were just read",
    "app/commands/suggest.py": "the documents that were just read",
    "api/enriching.py": "`outcomes` compares the texts; then the records that were just read",
    "app/commands/enrich.py": "`fitting` compares the texts of a run; otherwise the records that were just read",
    "app/demo.py": "the documents of the demo",
    "batch/batch.py": "the documents of one shard, with the suggestions that were just made for them",
    "graph/network.py": "references name works by id",
    "readers/documents/files.py": "tells documents of one id apart, or says that it is repeated",
    "data/vocabulary.py": "a page that is a label too",
    "combining/candidate_features.py": "a page that is a label too",
    "auto/recipe.py": "a page that is a label too",
}


def test_each_place_that_finds_documents_by_id_says_why_it_may() -> None:
    found = {path for path, tree in modules() if any(map(_is_document_id, _keys(tree)))}
    assert found == {*TEXTS_COMPARED, *WITHIN_ONE_REVIEW, *IDS_ALONE}


def _keys(tree: ast.AST) -> Iterator[ast.AST]:
    """Keys of dictionaries, members of sets, what is looked up in either or by SQL, lists of the ids of a corpus."""
    for node in ast.walk(tree):
        match node:
            case ast.DictComp(key=key) | ast.Subscript(slice=key) | ast.SetComp(elt=key) | ast.Compare(left=key):
                yield key
            case ast.Dict(keys=keys):
                yield from filter(None, keys)
            case ast.Call(func=ast.Attribute(attr="get" | "setdefault" | "add" | "pop"), args=[key, *_]):
                yield key
            case ast.Call(func=ast.Name(id="ids_of")) | ast.Attribute(value=ast.Name(id="corpus"), attr="ids"):
                yield node
            case ast.Constant(value=str(text)) if "FROM documents WHERE" in text:
                yield node


def _is_document_id(key: ast.AST) -> bool:
    written = ast.unparse(key)
    return written in ("document_id", "corpus.ids") or any(
        part in written for part in ("document.id", "entry.id", "entries[place].id", "ids_of(", " WHERE id = ")
    )
