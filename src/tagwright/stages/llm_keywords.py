"""Find candidates by the keywords that a language model gives a document, looked up by names and words of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from tagwright.core.saved import is_folder_name, read_manifest, read_options, write_manifest
from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ModelError
from tagwright.llm.client import Request, ask_if_possible
from tagwright.llm.options import LlmOptions, instructions
from tagwright.llm.texts import TEXT, array, read_answer, schema, usable
from tagwright.stages.lexical import Lexical
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.text.words import ANALYSIS, words
from tagwright.types import Distribution, Document, Floats, Label, Retriever, Run

KEYWORDS, LONGEST = 10, 100
"Keywords of a document that count, and the characters of one."

EXAMPLES, BEGINNING = 3, 500
"Labelled documents that are sent as examples, and the characters of each."

CANDIDATES = 100
"Labels that are suggested for a document."

KINDS: Mapping[str, type[ExactMatch] | type[Lexical]] = {"ExactMatch": ExactMatch, "Lexical": Lexical}
"The stages that can look keywords up."


class Example(NamedTuple):
    """The beginning of a labelled document, and the names of its labels."""

    document: str
    keywords: tuple[str, ...]


class LlmKeywords(Retriever):
    """Candidates by the keywords of a language model. The score of a label is the sum of 1 / rank over the stages.

    by: the stages that look the keywords up, as if they were a document. examples: labelled documents; the nearest
    ones by their words are sent with a document, but never the document itself.
    """

    distribution: Distribution = "sparse"
    meaning = "keywords of a language model"

    def __init__(
        self,
        labels: Sequence[Label],
        by: Mapping[str, ExactMatch | Lexical],
        options: LlmOptions,
        examples: Sequence[Example] = (),
        prompt: str = "",
    ) -> None:
        self.labels, self.by, self.options = labels, by, options
        self.examples = tuple(each for each in examples if words(each.document, ANALYSIS))
        self.prompt = prompt or instructions("keywords", options)

    def read(self, documents: Sequence[Document]) -> Run:
        """All labels that the keywords of each document find."""
        asked = [row for row, document in enumerate(documents) if document.text.strip()]
        texts = [documents[row].text for row in asked]
        requests = [
            Request(
                self.prompt,
                {"examples": [each._asdict() for each in near], "document": text[: self.options.characters]},
                schema(keywords=array(TEXT)),
            )
            for text, near in zip(texts, self._nearest(texts), strict=True)
        ]
        answers = ask_if_possible(
            self.options, requests, lambda text, _: valid_keywords(text), "are tagged without its keywords"
        )
        keywords = dict(zip(asked, answers, strict=True))
        found = [Document(str(row), title="; ".join(keywords.get(row) or ())) for row in range(len(documents))]
        runs = [stage.find(stage.read(found)) for stage in self.by.values()]
        joined = Run.union(runs)
        return joined.rescored(np.sum([_reciprocal(run).scores_of(joined) for run in runs], axis=0))

    def find(self, reading: Run) -> Run:
        """The best labels of each document; none for a document without keywords."""
        return reading.top(CANDIDATES)

    def score(self, reading: Run, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate; 0 for a label that no keyword finds."""
        return reading.scores_of(candidates)

    def with_labels(self, labels: Sequence[Label]) -> "LlmKeywords":
        """Return a copy for other labels; the examples keep the names that they have."""
        by = {name: stage.with_labels(labels) for name, stage in self.by.items()}
        return LlmKeywords(labels, by, self.options, self.examples, self.prompt)

    def save(self, folder: Path) -> None:
        """Write the options, the instructions, the examples, and the stages into folders of their own."""
        by = {name: type(stage).__name__ for name, stage in self.by.items()}
        options = {**asdict(self.options), "prompts": ""}
        content = {"options": options, "prompt": self.prompt, "examples": self.examples, "by": by}
        write_manifest(folder, "llm_keywords", content)
        for name, stage in self.by.items():
            (folder / name).mkdir()
            stage.save(folder / name)

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is missing or damaged."""
        manifest = read_manifest(folder, "llm_keywords")
        try:
            prompt, by = str(manifest["prompt"]), dict(manifest["by"])
            examples = [Example(str(text), tuple(map(str, names))) for text, names in manifest["examples"]]
            kinds = {name: KINDS[kind] for name, kind in by.items() if is_folder_name(name)}
        except (LookupError, TypeError, ValueError):
            raise ModelError(f"{folder}: is damaged (examples or stages are missing); save the tagger again") from None
        options = read_options(folder, LlmOptions, manifest.get("options"))
        stages = {name: kind.load(folder / name, labels) for name, kind in kinds.items()}
        return cls(labels, stages, options, examples, prompt)

    @cached_property
    def _words(self) -> tuple[BagOfWords, Matrix]:
        texts = [each.document for each in self.examples]
        analysis = min((stage.options.analysis for stage in self.by.values()), default=ANALYSIS)
        options = BagOptions(min_documents=1, max_share=1.0, analysis=analysis)  # there may be few of them
        bag = BagOfWords.of(iter(texts), options)
        return bag, bag.transform(iter(texts)).T.tocsr()

    def _nearest(self, texts: Sequence[str]) -> list[list[Example]]:
        """The examples that share the most words with each text, without the text itself."""
        if not self.examples or not texts:
            return [[] for _ in texts]
        bag, known = self._words
        found = []
        for text, row in zip(texts, (bag.transform(iter(texts)) @ known).tocsr(), strict=True):
            order = row.indices[np.argsort(-row.data, kind="stable")].tolist()
            others = [self.examples[place] for place in order if not text.startswith(self.examples[place].document)]
            found.append(others[:EXAMPLES])
        return found


def valid_keywords(text: str) -> list[str] | None:
    """The keywords of an answer; None where it has none.

    >>> valid_keywords('{"keywords": ["Bees", 7, "", "Honey"]}'), valid_keywords("Bees")
    (['Bees', 'Honey'], None)
    """
    listed = read_answer(text, "keywords")
    found = [usable(each, LONGEST) for each in listed] if isinstance(listed, list) else []
    return [each for each in found if each][:KEYWORDS] or None


def _reciprocal(run: Run) -> Run:
    """1 / rank as scores."""
    return Run(run.indptr, run.labels, (1.0 / run.ranks).astype(np.float32))
