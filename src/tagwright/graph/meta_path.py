"""The meta-path language: parse an expression over the metadata fields, and mark the place of an error.

    P->P          a document cites another            P<-P           is cited by another
    P-A-P         two share an author                 P-customer-P   a field by its name
    P->P<-P       two cite the same work              P<-P->P        the same work cites both
    P-(A,A)-P     two different authors shared        P->(P,P)<-P    two different works cited by both
    P-A-P->P      longer paths                        P-"mesh-id"-P  a name with signs in it

P is a document. Any other name is a metadata field, or a prefix of only one; A is author and V venue where the data
have them. Short names of the published experiments (PRP, PAAP, ...) and P(AA)P are understood.
"""

import re
from collections.abc import Sequence
from typing import NoReturn, TypeAlias

from tagwright.errors import ConfigError

DOCUMENT = "P"
"The node type of documents, and of cited works outside the corpus."

EDGE_FIELDS = ("reference", "citation")
"The metadata fields that are edges between documents; every other field is a node type."

CITATION_PATHS = {
    "PR": "P->P",
    "RP": "P<-P",
    "PRP": "P->P<-P",
    "RPR": "P<-P->P",
    "PRRP": "P->(P,P)<-P",
    "RPPR": "P<-(P,P)->P",
}
"Short names of the published experiments, R being a reference; those over fields (PAP, PAVP) follow a rule."

_TOKEN = re.compile(r'\s*(?:(?P<link>->|<-|-)|(?P<sign>[(),])|"(?P<quoted>[^"]+)"|(?P<name>[^\s"(),<>-]+))')


MetaPath: TypeAlias = tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]
"""A meta-path or meta-graph (MICoL Def. 2.2 and 2.3) between two documents: nodes and links.

Nodes are the node types along it, DOCUMENT or a field; several in one position are different nodes that all join the
same two documents. Links are "->", "<-" or "-", one between consecutive positions.
"""


def parse(expression: str, fields: Sequence[str]) -> MetaPath:
    """Read a meta-path over data that have these metadata fields.

    Raises ConfigError, pointing at the character, when the expression is malformed or needs a field the data lack.

    >>> parse("P-(A,V)-P", ["author", "venue"])[0]
    (('P',), ('author', 'venue'), ('P',))
    >>> parse("PRP", ["reference"])[1]
    ('->', '<-')
    """
    return _Parser(_spelled_out(expression), fields).path()


def possible_paths(fields: Sequence[str]) -> list[str]:
    """The ten meta-paths of MICoL (Table 4) that the fields allow, and P-field-P for every other field.

    >>> possible_paths(["venue", "tag"])
    ['P-V-P', 'P-tag-P']
    """
    citing = list(CITATION_PATHS.values()) if set(fields) & set(EDGE_FIELDS) else []
    author = ["P-A-P", "P-(A,A)-P"] if "author" in fields else []
    venue = ["P-V-P"] if "venue" in fields else []
    both = ["P-(A,V)-P"] if author and venue else []
    others = [field for field in fields if field not in {"author", "venue", *EDGE_FIELDS}]
    return citing + author + venue + both + [f"P-{_quote_name(field)}-P" for field in others]


def _quote_name(name: str) -> str:
    match = _TOKEN.fullmatch(name)
    return name if match and match["name"] else f'"{name}"'


def _spelled_out(expression: str) -> str:
    expression = expression.strip()
    if expression not in CITATION_PATHS and (match := re.fullmatch(r"P(\()?([A-OQ-Z]+)(?(1)\))P", expression)):
        return f"P-({','.join(match[2])})-P"
    return CITATION_PATHS.get(expression, expression)


class _Parser:
    """Reads the tokens of an expression: kind, text, and the place of its first character."""

    def __init__(self, expression: str, fields: Sequence[str]) -> None:
        self.expression = expression
        self.fields = fields
        self.tokens = self._tokens()
        self.position = 0

    def path(self) -> MetaPath:
        """Read place (link place)*."""
        start = self._next_start()
        nodes, links = [self._place()], list[str]()
        if nodes[0] != (DOCUMENT,):
            self._fail("a meta-path starts with a document, P", start)
        while self.position < len(self.tokens):
            link, at = self._take("link", "expected ->, <- or -")
            start = self._next_start()
            links.append(link)
            nodes.append(self._place())
            if problem := self._problem(nodes[-2], link, nodes[-1]):
                self._fail(problem, at)
        if nodes[-1] != (DOCUMENT,) or not links:
            self._fail("a meta-path ends with a document, P, as in P-A-P", start)
        return tuple(nodes), tuple(links)

    def _place(self) -> tuple[str, ...]:
        """Read type | "(" type ("," type)* ")"."""
        if not self._accept("("):
            return (self._type(),)
        types = [self._type()]
        while self._accept(","):
            types.append(self._type())
        if not self._accept(")"):
            self._fail('expected "," or ")"', self._next_start())
        return tuple(types)

    def _type(self) -> str:
        name, start = self._take("name", "expected P or the name of a field")
        if name == DOCUMENT:
            return DOCUMENT
        usual = {"A": "author", "V": "venue"}.get(name, name)  # the letters of the papers precede other fields
        exact = [field for field in (name, usual) if field in self.fields]
        fitting = exact[:1] or [field for field in self.fields if field.casefold().startswith(name.casefold())]
        if not fitting:
            self._fail(f'no field starts with "{name}"; {self._data()}', start)
        if len(fitting) > 1:
            self._fail(f'"{name}" may be {" or ".join(fitting)}; write the one meant in full', start)
        if fitting[0] in EDGE_FIELDS:
            self._fail(f'{fitting[0]} joins documents: write -> for "cites" and <- for "is cited by"', start)
        return fitting[0]

    def _problem(self, before: tuple[str, ...], link: str, after: tuple[str, ...]) -> str:
        """Return the problem of a step, or ""."""
        documents = [set(types) == {DOCUMENT} for types in (before, after)]
        if len(before) > 1 and len(after) > 1:
            return "a bracket must be between two single P"
        if any(DOCUMENT in types and len(set(types)) > 1 for types in (before, after)):
            return "P and a field cannot be in one bracket"
        if link == "-" and all(documents):
            return 'between documents write -> for "cites" or <- for "is cited by"'
        if link == "-" and not ((DOCUMENT,) in (before, after) and any(documents)):
            return "fields are joined only through a document, as in P-A-P-V-P"
        if link != "-" and not all(documents):
            return f'"{link}" joins documents; write - between P and a field'
        if link != "-" and not set(EDGE_FIELDS) & set(self.fields):
            return f"no reference or citation field; {self._data()}"
        return ""

    def _data(self) -> str:
        if not self.fields:
            return "the documents have no metadata, so no meta-path is possible"
        return f"the documents have {', '.join(self.fields)}, which allow {', '.join(possible_paths(self.fields))}"

    def _tokens(self) -> list[tuple[str, str, int]]:
        tokens, end, text = list[tuple[str, str, int]](), 0, self.expression
        while end < len(text):
            match = _TOKEN.match(text, end)
            if match is None:
                start = end + len(text[end:]) - len(text[end:].lstrip())
                self._fail(f'unexpected "{text[start]}"', start)
            kind = match.lastgroup or ""
            tokens.append((kind, match[kind], match.start(kind)))
            end = match.end()
        return tokens

    def _take(self, kind: str, expected: str) -> tuple[str, int]:
        """Text and place of the next token, which must be of this kind."""
        is_kind, text, start = self.tokens[self.position] if self.position < len(self.tokens) else ("", "", 0)
        if is_kind not in {kind, "quoted" if kind == "name" else kind}:
            self._fail(expected, self._next_start())
        self.position += 1
        return text, start

    def _accept(self, sign: str) -> bool:
        is_next = self.position < len(self.tokens) and self.tokens[self.position][:2] == ("sign", sign)
        self.position += is_next
        return is_next

    def _next_start(self) -> int:
        return self.tokens[self.position][2] if self.position < len(self.tokens) else len(self.expression)

    def _fail(self, problem: str, start: int) -> NoReturn:
        raise ConfigError(f'meta-path "{self.expression}", character {start + 1}: {problem}')
