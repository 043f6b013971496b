"""The project speaks the field's language: terms of our own that it once had do not come back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent


class Term(NamedTuple):
    """A term that is not used (a regular expression), the field's term, and an expression of lines that pass."""

    pattern: str
    instead: str
    allowed: str = ""
    exempt: tuple[str, ...] = ()
    "Files, or folders of src/tagwright, where the term has another sense."


TERMS = {
    "finders": Term(r"\bfinders?\b", "retrievers"),
    # the rankers of a combiner, which are learned, are not a kind of stage
    "rankers": Term(
        r"(?<!re-)(?<!re_)\brankers\b",
        "re-rankers",
        exempt=("combining", "ranker.py", "corpora.md", "figures.md", "sources.md", "few-labels.md"),
    ),
    "the names stage": Term(r"\bnames stage\b|\bstage [\"'`]?names\b(?! )", "exact match"),
    "grammar words": Term(r"grammar[ _]words?", "stop words"),
    # in the sense of evidence; text and cells in quotation marks stay what they are
    "quotes": Term(
        r"\bQuotes?\b|\bquotes? for\b|\bthey quote\b|\bquoted for\b|\bquote\.(start|end|weight)|\.quotes?\(",
        "evidence spans",
    ),
    "speaks for": Term(r"\bspeaks?[ _]for\b", "is evidence for"),
    # a part of a document; attention heads, output layers, the frequent labels and HTML's head stay
    "head": Term(
        r"\.head\b", "title_and_abstract", allowed=r"self\.head|classifier\.head|model\.head|record|name\.head"
    ),
    # HTML tables have a scope, and so has a request to a server (ASGI); SKOS has scope notes
    "scope": Term(r"\bscope\b", "text_field", allowed=r'scope=\\?"(col|row)|scope note', exempt=("server",)),
    "held_out": Term(r"held[ _-]?out\b|HELD_OUT", "validation"),
    "free vectors": Term(r"\bfree[ _]?vectors?\b|\bFreeVectors\b", "classifier weights"),
    "chance": Term(r"\bchance: (np\.random|\w*Generator)|\bchance\.(random|choice|integers|permutation)", "rng"),
    "strangers": Term(r"\bstrangers?\b", "random negatives"),
    "spared": Term(r"\bspar(e|es|ed|ing)\b", "false-negative masking, or skipped"),
    "Place of batching": Term(
        r"\bbatching\.Place\b|from tagwright\.training\.batching import [^\n]*\bPlace\b", "sampler state"
    ),
    # SQLite has a journal, and papers appear in journals
    "journal": Term(
        r"\bjournal\b|\bJournal\b",
        "training log",
        allowed=r"journal_mode|journals? must|[Aa] journal without|[+] journal|for journal in|journal-title|Journal/"
        r"|\"journal\"|the journal\)|-journal\)",
    ),
    "Joiner": Term(r"\bJoiners?\b|\bJoint\b", "pair tokenizer, pair batch"),
    "noising": Term(r"\bnois(ing|ed)\b|_noised_", "augmentation"),
    "improved_ict": Term(r"improved_?ict", "MACLR stage 1"),
    "coins": Term(r"\bcoins?\b", "sign-flip permutations"),
    "twins": Term(r"\btwins?\b", "duplicates"),
    # bees fly in circles, and SVG draws them
    "circle": Term(
        r"\bcircles?\b", "cycle", allowed=r"[Ii]n circles\.|[Ii]n circles\\.|fl(y|ies) in circles|</?circle"
    ),
    "parted": Term(r"\bparted\b", "delimited, separated"),
    "graph_tokens": Term(r"graph_tokens", "activation_token_budget"),
    "bits": Term(r"[\"']bits[\"']", "information_content"),
    "towers": Term(r"\btowers?\b", "dual encoder"),
    "learner": Term(r"\b[Ll]earners?\b", "training config"),
    "trainable": Term(r"import trainable\b|\btrainable\.py\b", "trainable encoder"),
    "unfinished": Term(r"\bunfinished\(|import unfinished\b", "resume"),
    "heeds": Term(r"\bheeds?\b", "accepts"),
    "with a say": Term(r"\bwith a say\b|\bhas? no( other)? say\b|\bits say\b", "voting"),
    "nobody looks": Term(r"\bnobody looks\b(?! at)", "without a terminal"),
    "learnt from nothing": Term(r"\blearnt from nothing\b", "randomly initialised"),
    "should have at least": Term(r"\bso many \w+.*\bshould have at least\b", "minimum"),
}

MODULES = (
    "coins", "elements", "improved_ict", "joiner", "journal", "layout", "learner", "noising", "paths", "prose", "show",
    "trainable", "unfinished", "utils", "common", "base", "helpers", "works",
)  # fmt: skip


def files() -> Iterator[Path]:
    yield from sorted((ROOT / "src").rglob("*.py"))
    yield from sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
    yield ROOT / "README.md"


def found(term: Term, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Numbered lines with the term."""
    wrong = re.compile(term.pattern, re.IGNORECASE if term.pattern.islower() else 0)
    for number, line in enumerate(lines, 1):
        if wrong.search(line) and not (term.allowed and re.search(term.allowed, line)):
            yield number, line.strip()


@pytest.mark.parametrize("name", TERMS)
def test_a_term_of_our_own_is_gone(name: str) -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in files()
        if not set(path.parts) & set(TERMS[name].exempt)
        for number, line in found(TERMS[name], path.read_text(encoding="utf-8").splitlines())
    ]
    assert not hits, f"write {TERMS[name].instead}:\n" + "\n".join(hits)


def test_terms_are_recognised_and_legitimate_uses_pass() -> None:
    for name, line in (("rankers", "all are rankers or the tail"), ("held_out", "the loss of held-out pairs")):
        assert list(found(TERMS[name], [line])) == [(1, line)]
    for line in ("between head and tail", '<th scope="col">', "self.heads = 12", "Retrievers and re-rankers"):
        assert not [name for name, term in TERMS.items() if list(found(term, [line]))]


def test_modules_have_names_of_the_field() -> None:
    names = [path.stem for path in (ROOT / "src").rglob("*.py") if not path.stem.startswith("__")]
    assert not set(names) & set(MODULES)
