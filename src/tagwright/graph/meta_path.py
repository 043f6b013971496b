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
from collections import deque
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

_NAME = re.compile(r'"[^"]+"|[^\s"(),<>-]+')

_TOKEN = re.compile(rf"->|<-|{_NAME.pattern}|\S")


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
    expression = _spelled_out(expression)
    tokens = deque((match[0], match.start()) for match in _TOKEN.finditer(expression))
    tokens.append(("", len(expression)))

    def fail(problem: str, start: int) -> NoReturn:
        raise ConfigError(f'meta-path "{expression}", character {start + 1}: {problem}')

    def read_type() -> str:
        name, start = tokens.popleft()
        fitting, problem = _node_type(name, fields)
        if problem:
            fail(problem, start)
        return fitting

    def read_place() -> tuple[str, ...]:
        """Read type | "(" type ("," type)* ")"."""
        if tokens[0][0] != "(":
            return (read_type(),)
        types = list[str]()
        while tokens[0][0] == ("," if types else "("):
            tokens.popleft()
            types.append(read_type())
        sign, start = tokens.popleft()
        if sign != ")":
            fail('expected "," or ")"', start)
        return tuple(types)

    start, nodes, links = tokens[0][1], [read_place()], list[str]()
    if nodes[0] != (DOCUMENT,):
        fail("a meta-path starts with a document, P", start)
    while tokens[0][0]:
        link, at = tokens.popleft()
        start = tokens[0][1]
        links.append(link)
        nodes.append(read_place())
        if problem := _problem(nodes[-2], link, nodes[-1], fields):
            fail(problem, at)
    if nodes[-1] != (DOCUMENT,) or not links:
        fail("a meta-path ends with a document, P, as in P-A-P", start)
    return tuple(nodes), tuple(links)


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
    return name if _NAME.fullmatch(name) else f'"{name}"'


def _spelled_out(expression: str) -> str:
    expression = expression.strip()
    if expression not in CITATION_PATHS and (match := re.fullmatch(r"P(\()?([A-OQ-Z]+)(?(1)\))P", expression)):
        return f"P-({','.join(match[2])})-P"
    return CITATION_PATHS.get(expression, expression)


def _node_type(name: str, fields: Sequence[str]) -> tuple[str, str]:
    """Return the node type that a name means, and the problem, or "", if it means none or several."""
    if not _NAME.fullmatch(name):
        return "", "expected P or the name of a field"
    name = name.strip('"')
    if name == DOCUMENT:
        return DOCUMENT, ""
    usual = {"A": "author", "V": "venue"}.get(name, name)  # the letters of the papers precede other fields
    exact = [field for field in (name, usual) if field in fields]
    fitting = exact[:1] or [field for field in fields if field.casefold().startswith(name.casefold())]
    if not fitting:
        return "", f'no field starts with "{name}"; {_data(fields)}'
    if len(fitting) > 1:
        return "", f'"{name}" may be {" or ".join(fitting)}; write the one meant in full'
    if fitting[0] in EDGE_FIELDS:
        return "", f'{fitting[0]} joins documents: write -> for "cites" and <- for "is cited by"'
    return fitting[0], ""


def _problem(before: tuple[str, ...], link: str, after: tuple[str, ...], fields: Sequence[str]) -> str:
    """Return the problem of a step, or ""."""
    documents = [set(types) == {DOCUMENT} for types in (before, after)]
    if link not in ("->", "<-", "-"):
        return "expected ->, <- or -"
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
    if link != "-" and not set(EDGE_FIELDS) & set(fields):
        return f"no reference or citation field; {_data(fields)}"
    return ""


def _data(fields: Sequence[str]) -> str:
    if not fields:
        return "the documents have no metadata, so no meta-path is possible"
    return f"the documents have {', '.join(fields)}, which allow {', '.join(possible_paths(fields))}"
