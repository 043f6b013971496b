"""Which labels fulfil conditions, worked out by hand from the SKOS file in `whole_vocabulary`."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest
from tests.whole_vocabulary import SKOS

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, on_command_line
from tagwright.types import Label


@pytest.fixture(scope="module", params=["read", "stored"])
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    folder = tmp_path_factory.mktemp("zoo")
    (folder / "zoo.ttl").write_text(SKOS, encoding="utf-8")
    found = Vocabulary.read(folder / "zoo.ttl", language="en")
    if request.param == "read":
        return found
    (folder / "saved").mkdir()
    found.save(folder / "saved")
    return Vocabulary.load(folder / "saved")


@pytest.mark.parametrize(
    ("only", "without", "left"),
    [
        ([], [], "1235"),
        (["http://e/3", "id:http://e/5"], [], "35"),
        (["http://e/*"], ["http://e/2"], "135"),
        (["notation:598"], [], "2"),
        (["notation:59*"], [], "125"),
        (["type:http://e/Topic"], [], "12"),
        (["scheme:http://e/farm"], [], "2"),
        (["scheme:http://e/zoo"], [], "1235"),
        (["collection:http://e/inner"], [], "13"),
        (["collection:http://e/night"], [], "135"),
        (["branch:http://e/2"], [], "25"),
        (["branch:http://e/2", "branch:http://e/3"], [], "235"),
        (["branch:http://e/1", "collection:http://e/night"], [], "15"),
        (["branch:http://e/1", "collection:http://e/night"], ["notation:598*", "type:http://e/Kind"], "1"),
        ([], ["branch:http://e/2", "notation:637.5"], "1"),
    ],
    ids=str,
)
def test_conditions_of_a_kind_are_alternatives_and_those_of_several_kinds_all_hold(
    zoo: Vocabulary, only: Sequence[str], without: Sequence[str], left: str
) -> None:
    assert list(zoo.restrict(only, without).ids) == [f"http://e/{each}" for each in left]


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("notation:6375", 'only="notation:6375" fits no label; did you mean notation:637.5?'),
        ("scheme:http://e/zo", 'only="scheme:http://e/zo" fits no label; did you mean scheme:http://e/zoo?'),
        ("branch:Birds", 'only="branch:Birds" fits no label; did you mean branch:http://e/2?'),
        ("owls", 'only="owls" fits no label; did you mean http://e/5?'),
        ("type:*/Sort", 'only="type:*/Sort" fits no label; there are type:http://e/Kind, http://e/Topic ...'),
        ("notation:7*", 'only="notation:7*" fits no label; there are notation:59, 598, 598.9 ...'),
    ],
)
def test_a_condition_that_no_label_fulfils_is_refused_with_the_nearest(
    zoo: Vocabulary, condition: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        zoo.restrict([condition])
    assert str(caught.value) == problem
    with on_command_line(), pytest.raises(ConfigError, match=r'^--without ".*" fits no label; '):
        zoo.restrict(without=[condition])


def test_conditions_that_leave_no_label_are_refused(zoo: Vocabulary) -> None:
    with pytest.raises(ConfigError) as caught:
        zoo.restrict(["notation:59"], ["http://e/1"])
    assert str(caught.value) == "no label fulfils all of only=notation:59, without=http://e/1; leave one of them out"


def test_a_text_that_is_an_id_as_it_stands_means_that_label() -> None:
    odd = Vocabulary(["type:x", "C*", "Cats", "http://x/1"])
    assert odd.restrict(["type:x", "C*", "http://x/1"]).ids == ("type:x", "C*", "http://x/1")
    assert odd.restrict(["id:C*"]).ids == ("C*",)
    assert odd.restrict(["Ca*"]).ids == ("Cats",)
    with pytest.raises(ConfigError, match="no label of the vocabulary has a type"):
        odd.restrict(["type:y"])


def test_thousands_of_conditions_are_looked_up_and_not_compared_one_by_one() -> None:
    many = Vocabulary([f"{number:05}" for number in range(30_000)])
    assert len(many.restrict([f"{number:04}*" for number in range(0, 3000, 2)])) == 15_000
    assert len(many.restrict(without=[f"branch:{number:05}" for number in range(10_000)])) == 20_000


def test_a_cycle_of_broader_labels_is_one_branch() -> None:
    ring = [Label("a", ("A",), broader=("b",)), Label("b", ("B",), broader=("a", "gone")), Label("c", ("C",))]
    assert Vocabulary(ring).restrict(["branch:b"]).ids == ("a", "b")


def test_a_vocabulary_that_was_asked_can_be_pickled(zoo: Vocabulary) -> None:
    zoo.restrict(["notation:598"])
    assert pickle.loads(pickle.dumps(zoo)).restrict(["notation:598"]).ids == ("http://e/2",)
