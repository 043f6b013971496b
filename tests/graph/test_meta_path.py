import pytest

from tagwright.errors import ConfigError
from tagwright.graph.meta_path import parse, possible_paths

FIELDS = ["author", "citation", "customer", "mesh-id", "reference", "tag", "venue"]


@pytest.mark.parametrize(
    ("expression", "nodes", "links"),
    [
        ("P->P", ["P", "P"], ["->"]),
        ("P-A-P", ["P", "author", "P"], ["-", "-"]),
        ("P->P<-P", ["P", "P", "P"], ["->", "<-"]),
        (" P - tag - P ", ["P", "tag", "P"], ["-", "-"]),
        ('P-"mesh-id"-P', ["P", "mesh-id", "P"], ["-", "-"]),
        ("P-t-P", ["P", "tag", "P"], ["-", "-"]),
        ("P-(V)-P", ["P", "venue", "P"], ["-", "-"]),
        ("P-A-P->P", ["P", "author", "P", "P"], ["-", "-", "->"]),
    ],
)
def test_a_path_is_read_into_node_types_and_links(expression: str, nodes: list[str], links: list[str]) -> None:
    assert parse(expression, FIELDS) == (tuple((node,) for node in nodes), tuple(links))


def test_a_bracket_is_one_place_of_several_nodes() -> None:
    nodes, links = parse("P-(A,V,A)-P<-(P,P)->P", FIELDS)
    assert nodes == (("P",), ("author", "venue", "author"), ("P",), ("P", "P"), ("P",))
    assert links == ("-", "-", "<-", "->")


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("PR", "P->P"),
        ("PAP", "P-A-P"),
        ("PRP", "P->P<-P"),
        ("PAVP", "P-(A,V)-P"),
        ("P(AAAAA)P", "P-(A,A,A,A,A)-P"),
        ("PRRP", "P->(P,P)<-P"),
    ],
)
def test_short_names_of_the_papers_are_understood(short: str, long: str) -> None:
    assert parse(short, FIELDS) == parse(long, FIELDS)


@pytest.mark.parametrize(
    ("expression", "character", "problem"),
    [
        ("P-B-P", 3, 'no field starts with "B"; the documents have author, citation, customer'),
        ("P-c-P", 3, '"c" may be citation or customer'),
        ("P-R-P", 3, 'reference joins documents: write -> for "cites"'),
        ("P->A", 2, '"->" joins documents; write - between P and a field'),
        ("P-P", 2, "between documents write ->"),
        ("P-A-V-P", 4, "fields are joined only through a document"),
        ("P-(A,P)-P", 2, "P and a field cannot be in one bracket"),
        ("P->(P,P)->(P,P)->P", 9, "a bracket must be between two single P"),
        ("A-P-A", 1, "starts with a document"),
        ("P-A", 3, "ends with a document"),
        ("P", 1, "ends with a document"),
        ("P->(P,P)", 4, "ends with a document"),
        ("P-(A,A-P", 7, 'expected "," or ")"'),
        ("P-(A,)-P", 6, "expected P or the name of a field"),
        ("P-A-", 5, "expected P or the name of a field"),
        ("P A P", 3, "expected ->, <- or -"),
        ("P-A>P", 4, "expected ->, <- or -"),
        ("", 1, "expected P or the name of a field"),
    ],
)
def test_an_error_points_at_the_character(expression: str, character: int, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(expression, FIELDS)
    assert f'meta-path "{expression}", character {character}: ' in str(caught.value)
    assert problem in str(caught.value)


def test_a_missing_field_is_answered_with_what_the_data_allow() -> None:
    with pytest.raises(ConfigError, match=r"the documents have tag, venue, which allow P-V-P, P-tag-P$"):
        parse("P-A-P", ["tag", "venue"])


def test_all_ten_paths_of_the_paper_are_possible_over_its_metadata() -> None:
    ten = "P->P P<-P P-A-P P-V-P P->P<-P P<-P->P P-(A,A)-P P-(A,V)-P P->(P,P)<-P P<-(P,P)->P"
    assert sorted(possible_paths(["author", "citation", "reference", "venue"])) == sorted(ten.split())


def test_a_field_of_exactly_that_name_wins_over_everything() -> None:
    assert parse("P-A-P", ["A", "author"])[0][1] == ("A",)
    assert parse("P-tag-P", ["tag", "tags"])[0][1] == ("tag",)


def test_possible_paths_quote_names_with_signs_so_that_they_can_be_read() -> None:
    [path] = possible_paths(["mesh-id"])
    assert parse(path, ["mesh-id"])[0][1] == ("mesh-id",)
