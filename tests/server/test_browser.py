"""The review page in a real browser: what each way to use it stores, what hostile texts can do, and what axe finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.server.browsing import DESK, NARROW, PHONE, chromium, served, violations, visiting
from tests.server.conftest import LABELS, word_tagger

from tagwright.core.versions import model_names
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.server.languages import LANGUAGES
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.types import Document, Label

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

BEE, TAX, ORCHARD = LABELS.ids


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    file = ReviewFile(tmp_path / "reviews.sqlite")
    review = Review(ServedModel("bees", word_tagger(), "Bees"), file)
    review.documents.add(Document(f"d{i}", f"Honey bees {i}", "Bees visit orchards.") for i in range(1, 6))
    with closing(file):
        yield review


@pytest.fixture
def address(review: Review) -> Iterator[str]:
    measured = {"combined": {"nDCG@5": {"before": 0.25, "after": 0.5}, "gain": {"low": 0.1, "high": 0.2}}}
    with served(review, lambda tagger, *_: replace(tagger, training=measured)) as address:
        yield address


def test_five_documents_by_keyboard_alone(browser: Browser, review: Review, address: str) -> None:
    with visiting(browser, address, "Ann") as page:
        press = page.keyboard.press
        for count in range(5):
            page.wait_for_selector(f"#progress:has-text('{count} of 5 done')")
            for key in ("1", "a", "r"):  # after a verdict the next suggestion has the focus
                press(key)
            _add_by_keys(page, "tax")
            if count == 2:
                press("u")
                page.wait_for_selector("text=added by you", state="detached")
                undone = page.get_attribute("#sheet", "data-number")
                page.reload()
            press("Enter")
        page.wait_for_selector("text=Every document has been reviewed")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    assert review.decisions.labels() == {f"d{i}": [BEE] if f"{i}" == undone else [BEE, TAX] for i in range(1, 6)}
    rejected = {key for key, given in review.decisions.verdicts().items() if given == {"Ann": "reject"}}
    assert rejected == {(f"d{i}", ORCHARD) for i in range(1, 6)}


def _add_by_keys(page: Page, word: str) -> None:
    """Search for a label, add the first one that is found, and go back to the suggestions."""
    page.keyboard.press("/")
    page.keyboard.type(word)
    page.wait_for_selector(".found button")
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("text=added by you")
    page.keyboard.press("Escape")


def test_keys_that_come_before_the_answer_of_a_search_wait_for_it(
    browser: Browser, review: Review, address: str
) -> None:
    """The answer is held back until word, arrow and Enter are typed; it adds the label, and finishes nothing."""
    with visiting(browser, address, "Ann") as page:
        arrows = ("ArrowDown", "ArrowUp", "ArrowDown")
        for word, keys in (("tax", ("ArrowDown", "Enter")), ("tax law", (*arrows, "Enter")), ("law", ("Enter",))):
            held = _held_back(page)
            page.keyboard.press("/")
            page.keyboard.type(word)
            for key in keys:
                page.keyboard.press(key)
            assert page.evaluate("document.activeElement.id") == "search"
            _let_go(page, held)
            if keys == ("Enter",):
                page.wait_for_selector(".found button")
                assert page.evaluate("document.activeElement.id") == "search"
                break
            page.wait_for_selector("text=added by you")
            page.keyboard.press("Escape")
            page.keyboard.press("u")
            page.wait_for_selector("text=added by you", state="detached")
    actions = [event.action for _, event in review.decisions.events() if event.action != "shown"]
    assert actions == ["accept", "undo"] * 2


def test_a_verdict_that_is_stored_late_takes_nothing_from_the_search(
    browser: Browser, review: Review, address: str
) -> None:
    """The answer to a verdict comes when the arrow has reached a label found since: Enter adds that label."""
    with visiting(browser, address, "Ann") as page:
        held: list[Route] = []

        def hold(route: Route) -> None:
            if route.request.method == "POST":
                held.append(route)
            else:
                route.continue_()

        page.route("**/review/documents/*", hold)
        page.keyboard.press("1")
        page.keyboard.press("a")
        page.keyboard.press("/")
        page.keyboard.type("tax")
        page.wait_for_selector(".found button")
        page.keyboard.press("ArrowDown")
        while not held:
            page.wait_for_timeout(10)
        held[0].continue_()
        page.wait_for_selector("#row-1.accept")
        page.unroute("**/review/documents/*")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=added by you")
    assert review.decisions.labels() == {"d1": [BEE, TAX]}


@pytest.mark.parametrize("width", [PHONE, DESK, 1920])
def test_nothing_moves_by_a_verdict_or_a_search(browser: Browser, address: str, width: int) -> None:
    with visiting(browser, address, "Ann", width=width) as page:
        before = _places(page)
        for action in ("yes", "no"):
            page.click(f"#row-1 .{action}")
            page.wait_for_selector(f"#row-1 .{action}[aria-pressed=true]")
            assert _places(page) == before
        page.keyboard.press("/")
        page.keyboard.type("tax")
        page.wait_for_selector(".found button")
        assert _places(page) == before
        page.keyboard.press("Escape")
        page.wait_for_selector(".found button", state="hidden")
        page.keyboard.press("/")
        page.wait_for_selector(".found button")


def test_a_document_takes_a_key_for_each_verdict_and_one_more(browser: Browser, address: str) -> None:
    """A label that nobody suggested takes its letters, a key before them, two after them and one to leave."""
    with visiting(browser, address, "Ann") as page:
        count = 0

        def press(*keys: str) -> None:
            nonlocal count
            for key in keys:
                page.keyboard.press(key)
                count += 1

        press("a", "r", "Enter")
        page.wait_for_selector("#progress:has-text('1 of 5 done')")
        assert count == page.locator(".row").count() + 1
        count = 0
        press("/", *"tax")
        page.wait_for_selector(".found button")
        press("ArrowDown", "Enter")
        page.wait_for_selector("text=added by you")
        press("Escape", "Enter")
        page.wait_for_selector("#progress:has-text('2 of 5 done')")
        assert count == len("tax") + 5


@pytest.mark.parametrize("scripts", [True, False])
def test_the_overview_is_sorted_by_its_columns(browser: Browser, review: Review, address: str, scripts: bool) -> None:
    review.decisions.add_all([Decision(document="d3", reviewer="Ben", action="skip")])
    with visiting(browser, address, "Ann", width=DESK, scripts=scripts) as page:
        page.goto(f"{address}/review/overview?q=bees")
        for column, way, number in (
            ("Document", "ascending", 1),
            ("Document", "descending", 5),
            ("Reviewer", "ascending", 3),
        ):
            page.click(f"thead >> text={column}")
            page.wait_for_selector(f"th[aria-sort={way}] >> text={column}")
            assert page.locator("th[aria-sort]").count() == 1
            assert page.get_attribute("tbody a >> nth=0", "href") == f"/review/documents/{number}"
            assert page.input_value("#filter") == "bees"
        page.select_option("#state", "open")
        page.click("text=Show")
        page.wait_for_selector("caption:has-text('Documents 1 to 4 of 4')")
        assert page.get_attribute("th[aria-sort]", "aria-sort") == "ascending"


def test_every_table_has_a_caption(browser: Browser, address: str) -> None:
    with visiting(browser, address, "Ann") as page:
        tables = 0
        for path in ("/", "/api", "/review/overview", "/review/differences", "/review/documents/1"):
            page.goto(address + path)
            captions = page.eval_on_selector_all("table", "all => all.map(each => each.caption?.innerText.trim())")
            assert all(captions), path
            tables += len(captions)
        assert tables > 0


def test_one_suggestion_is_copied(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": DESK, "height": 800})
    page = context.new_page()
    page.goto(address)
    _ask(page, "Honey bees visit orchards.")
    page.wait_for_selector("#row-2")
    page.click("text=Another text")
    for button, text in (
        ("#row-1 .copy button >> nth=0", "Orchards"),
        ("#row-2 .copy button >> nth=1", "http://x.org/bee"),
    ):
        page.click(button)
        page.wait_for_selector("#status.toast:has-text('Copied')")
        assert page.evaluate("document.activeElement.dataset.copy") == text
        page.fill("#text", "")
        page.focus("#text")
        page.keyboard.press("Control+v")
        assert page.input_value("#text") == text
    context.close()


def test_eight_suggestions_fit_on_a_desk(browser: Browser, tmp_path: Path) -> None:
    names = [f"{first}{second}us" for first in ("bar", "dol", "fin") for second in "aeiou"]
    tagger = word_tagger().with_labels([Label(name, (name,)) for name in names])
    with closing(ReviewFile(tmp_path / "many.sqlite")) as file:
        review = Review(ServedModel("m", tagger, "M"), file)
        review.documents.add([Document("d", "Many", " ".join(names))])
        with (
            served(review, lambda tagger, *_: tagger) as address,
            visiting(browser, address, "Ann", width=DESK) as page,
        ):
            bottoms = page.eval_on_selector_all(".row", "all => all.map(each => each.getBoundingClientRect().bottom)")
            end = page.eval_on_selector(".end", "each => each.getBoundingClientRect().top")
    assert len(bottoms) == 15
    assert sum(bottom <= end for bottom in bottoms) >= 8


def test_less_likely_suggestions_are_a_key_or_a_click_away(browser: Browser, review: Review, address: str) -> None:
    """They stay open after a verdict on one of them, which is shown with the others from then on."""
    review.show = 1
    with visiting(browser, address, "Ann") as page:
        assert page.locator(".row:visible").count() == 1
        assert violations(page) == []
        page.keyboard.press("m")
        assert page.evaluate("document.activeElement.id") == "row-2"
        page.keyboard.press("m")
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
        page.keyboard.press("r")  # no verdict on what is hidden again
        page.keyboard.press("a")
        page.wait_for_timeout(300)
        assert review.decisions.verdicts() == {}
        page.keyboard.press("2")  # the number of a hidden one shows it
        assert page.evaluate("document.activeElement.id") == "row-2"
        page.keyboard.press("r")
        page.wait_for_selector("#row-2.reject")
        assert page.locator(".less").count() == 0
        page.reload()
        assert page.locator(".row:visible").count() == 2
    with visiting(browser, address, "Ben", scripts=False) as page:
        page.click("text=1 more, less likely")
        assert page.locator(".row:visible").count() == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_phone_shows_one_row_of_navigation_and_nothing_is_too_wide(
    browser: Browser, address: str, language: str
) -> None:
    with visiting(browser, address, "Ann", width=NARROW) as page:
        for path in ("/", "/api", "/review/overview", "/review/differences", "/review/documents/1"):
            page.goto(f"{address}{path}?lang={language}")
            rows = page.eval_on_selector_all("header nav a", "all => all.map(each => each.getBoundingClientRect().top)")
            assert (len(rows), len(set(rows))) == (5, 1)
            assert page.evaluate("document.documentElement.scrollWidth") == NARROW


SMALL = """[...document.querySelectorAll("a, button, summary, input, select, textarea")].filter(each => {
  const box = each.getBoundingClientRect();
  const isInText = getComputedStyle(each).display === "inline" && each.parentElement.innerText !== each.innerText;
  const isShown = box.width && each.checkVisibility() && !each.matches(".skip");
  return isShown && !isInText && Math.min(box.width, box.height) < 24;
}).map(each => each.outerHTML)"""


@pytest.mark.parametrize("width", [NARROW, DESK])
def test_what_is_touched_has_24_pixels(browser: Browser, address: str, width: int) -> None:
    """WCAG 2.2 (2.5.8) asks it of all targets but links in running text."""
    with visiting(browser, address, "Ann", width=width) as page:
        review = ("overview", "differences", "documents/1", "documents/9")
        for path in ("/", "/api", *(f"/review/{place}" for place in review)):
            page.goto(address + path)
            assert page.evaluate(SMALL) == [], path
        page.goto(address)
        _ask(page, "Honey bees visit orchards.")
        assert page.evaluate(SMALL) == []


def test_buttons_and_fields_are_equally_high_and_texts_not_too_wide(browser: Browser, address: str) -> None:
    shown = "button:visible, select:visible, input:not([type=file], [type=checkbox]):visible"
    with visiting(browser, address, "Ann", width=1920) as page:
        for path in ("/", "/review/overview", "/review/documents/1"):
            page.goto(address + path)
            if path == "/":
                page.click("text=Options")
                width = page.eval_on_selector(
                    "#text", "each => each.clientWidth / parseFloat(getComputedStyle(each).fontSize)"
                )
                assert width < 45  # of its font: 65 digits have about 40
            boxes = [each.bounding_box() for each in page.locator(shown).all()]
            heights = {round(box["height"], 1) for box in boxes if box}
            assert len(heights) == 1, (path, heights)


def _places(page: Page) -> list[dict[str, float]]:
    """Where the cards are, and what one sees in them."""
    script = "all => all.map(each => each.getBoundingClientRect().toJSON())"
    shown = ".row, .row > *, .row h2, .row summary, .row button"
    places: list[dict[str, float]] = page.eval_on_selector_all(shown, script)
    return places


def test_an_answer_that_comes_late_does_not_take_the_place_of_a_newer_one(
    browser: Browser, review: Review, address: str
) -> None:
    with visiting(browser, address, "Ann") as page:
        held = _held_back(page)
        page.keyboard.press("/")
        page.keyboard.type("bee")
        while len(held) < 1:  # until the first search is on its way
            page.wait_for_timeout(10)
        page.keyboard.type("s")
        page.keyboard.press("ArrowDown")
        while len(held) < 2:
            page.wait_for_timeout(10)
        held[1].continue_()
        page.wait_for_selector(".found button:focus")
        with page.expect_response("**/labels?q=bee"):
            held[0].continue_()
        page.evaluate("new Promise((done) => setTimeout(done, 50))")
        assert page.inner_text("#found .aside").endswith("“bees”")
        assert page.locator(".found button:focus").count() == 1
    assert [event.action for _, event in review.decisions.events() if event.action != "shown"] == []


def _held_back(page: Page) -> list[Route]:
    """The searches of a page, which are not answered until they go on."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/labels?q=*", hold)
    return held


def _let_go(page: Page, held: list[Route]) -> None:
    while not held:
        page.wait_for_timeout(10)
    for each in held:
        each.continue_()
    page.unroute("**/labels?q=*")


def test_keys_can_be_switched_off(browser: Browser, review: Review, address: str) -> None:
    with visiting(browser, address, "Ann", width=DESK) as page:
        page.wait_for_selector("#show-keys")  # hidden until the script has read the page
        page.keyboard.press("?")
        page.click("text=Use these keys")
        page.click("text=Close")
        page.focus("#row-1")
        page.keyboard.press("a")
        page.keyboard.press("s")
        page.click("#row-2 .no")
        page.wait_for_selector("#row-2.reject")
    assert [event.action for _, event in review.decisions.events() if event.action != "shown"] == ["reject"]


def test_everything_works_by_mouse_without_scripts(browser: Browser, review: Review, address: str) -> None:
    with visiting(browser, address, "Ben", scripts=False) as page:
        for count in range(5):
            page.wait_for_selector(f"#progress:has-text('{count} of 5 done')")
            page.click("#row-1 .yes")
            page.wait_for_selector("#row-1.accept")
            page.click("#row-2 .no")
            page.wait_for_selector("#row-2.reject")
            page.click("#undo")
            page.wait_for_selector("#row-2:not(.reject)")
            page.click("#done")
        page.wait_for_selector("text=Every document has been reviewed")
        page.click("text=Train the tagger")
        page.goto(f"{address}/review/overview")
    assert review.decisions.labels() == {f"d{i}": [BEE] for i in range(1, 6)}
    assert [len(each) for each in review.decisions.verdicts().values()] == [1] * 5


def test_a_blind_document_by_keyboard_takes_one_key_more(browser: Browser, review: Review, address: str) -> None:
    review.blind_share = 1.0
    with visiting(browser, address, "Ann") as page:
        press = page.keyboard.press
        page.wait_for_selector("text=Give your own labels first")
        assert page.locator("mark, .row").count() == 0
        _add_by_keys(page, "tax")
        press("Enter")  # shows the suggestions
        page.wait_for_selector("#row-2")
        assert _coloured(page)
        press("1")
        press("a")
        page.wait_for_selector("#row-1.accept")
        press("Enter")
        page.wait_for_selector("#progress:has-text('1 of 5 done')")
    (document,) = review.decisions.blind()
    assert review.decisions.blind() == {document: [TAX]}
    assert review.decisions.labels() == {document: [TAX, BEE]}


def test_a_blind_document_without_own_labels_is_judged_by_keys_and_not_closed_by_the_next_one(
    browser: Browser, review: Review, address: str
) -> None:
    """Row 1 looks selected when the suggestions appear: the keys are for it; a second Enter loses nothing."""
    review.blind_share = 1.0
    with visiting(browser, address, "Ann") as page:
        press = page.keyboard.press
        for count, (keys, row) in enumerate(((("a",), "#row-1.accept"), (("r", "a"), "#row-2.accept"))):
            page.wait_for_selector("text=Give your own labels first")
            press("Enter")
            page.wait_for_selector("#row-1.on")
            assert page.evaluate("document.activeElement.id") == "row-1"
            press("Enter")
            page.wait_for_selector("#status:has-text('No suggestion is judged yet')")
            if count:  # as after a click beside the rows: the row that looks selected is meant
                page.evaluate("document.activeElement.blur()")
            for key in keys:
                press(key)
            page.wait_for_selector(row)
            press("Enter")
            page.wait_for_selector(f"#progress:has-text('{count + 1} of 5 done')")
        press("Enter")  # without any subject: Enter shows the suggestions, warns, and goes on
        page.wait_for_selector("#row-1.on")
        press("Enter")
        press("Enter")
        page.wait_for_selector("#progress:has-text('3 of 5 done')")
    assert sorted(review.decisions.labels().values()) == sorted([[], [BEE], [ORCHARD]])


def test_the_button_trains_a_version_which_is_used_and_left_again(
    browser: Browser, review: Review, address: str
) -> None:
    review.decisions.add_all([Decision(document="d1", reviewer="Ann", action="accept", label=BEE, rank=1)])
    review.decisions.add_all([Decision(document="d1", reviewer="Ann", action="done")])
    with visiting(browser, address, "Ben") as page:
        page.goto(f"{address}/review/overview")
        page.click("text=Train the tagger")
        page.wait_for_selector("text=Too few decisions")  # nobody reloads the page
        assert page.locator("text=Training…").count() == 0
        assert "0 documents reviewed blind, of 20" in page.inner_text("#outcome")
        first, second = model_names(review.file.path.parent / "versions")
        assert page.inner_text("#outcome").strip().endswith(f"In use: bees, version {first}.")
        page.click(f"text=Use version {second}")
        page.wait_for_selector(f"#outcome:has-text('In use: bees, version {second}.')")
        page.click(f"text=Go back to version {first}")
        page.wait_for_selector(f"#outcome:has-text('In use: bees, version {first}.')")


def test_only_the_evidence_of_the_suggestion_in_hand_is_coloured(browser: Browser, address: str) -> None:
    """In "Honey bees 1. Bees visit orchards." the first suggestion is Bees, the second one Orchards."""
    for scripts in (True, False):
        with visiting(browser, address, "Ann", scripts=scripts) as page:
            assert {each.lower() for each in _coloured(page)} == {"bees"}
            if scripts:
                page.keyboard.press("2")
                assert _coloured(page) == ["orchards"]
                page.hover("#row-1")
            else:
                page.click("#row-2 summary")
                page.click("#row-2 a")
                assert _coloured(page) == ["orchards"]
                page.click("#row-1 summary")
                page.click("#row-1 a")
            assert {each.lower() for each in _coloured(page)} == {"bees"}


def _ask(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.click("#ask button.primary")


def _coloured(page: Page) -> list[str]:
    """The marked words that have a background of their own."""
    marks = page.locator("mark").all()
    plain = "rgba(0, 0, 0, 0)"
    return [each.inner_text() for each in marks if _background(each) != plain]


def _background(element: Locator) -> str:
    return str(element.evaluate("element => getComputedStyle(element).backgroundColor"))


@pytest.mark.slow
def test_axe_finds_nothing(browser: Browser, review: Review, address: str) -> None:
    with visiting(browser, address, "Ben") as page:
        first = page.url
        page.click("#row-1 .no")
        page.wait_for_selector("#row-1.reject")
    found = {}
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}/review/enter")
    found["name"] = violations(page)
    page.fill("#name", " ")
    page.click("text=Begin")
    found["no name"] = violations(page)
    page.fill("#name", "Ann")
    page.click("text=Begin")
    page.goto(first)
    found["document"] = violations(page)
    found |= _worked_on(page)
    for name, place in (("overview", "overview"), ("differences", "differences"), ("problem", "documents/99")):
        page.goto(f"{address}/review/{place}")
        found[name] = violations(page)
    page.goto(f"{address}/api")
    found["api"] = violations(page)
    context.close()
    assert {name: what for name, what in found.items() if what} == {}


def _worked_on(page: Page) -> dict[str, list[str]]:
    """A document with verdicts, search results and a note; then the list of keys above it."""
    page.click("#row-1 .yes")
    page.wait_for_selector("#row-1.accept")
    page.click("#row-2 .no")
    page.wait_for_selector("#row-2.reject")
    page.click("#row-1 summary")
    page.click("#note-title")
    page.fill("#note", "Which bees?")
    page.hover("#row-1")
    page.fill("#search", "tax")
    page.wait_for_selector(".found button")
    found = {"verdicts": violations(page)}
    page.click("#show-keys")
    return {**found, "keys": violations(page)}


@pytest.mark.slow
def test_a_text_and_a_dropped_file_get_suggestions_which_are_copied(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": DESK, "height": 800})
    page = context.new_page()
    page.goto(address)  # in "Honey bees visit orchards." the first suggestion is Orchards, the second one Bees
    page.click("text=Options")
    assert page.inner_text("#language option[value=en]") == "English (en)"
    assert violations(page) == []
    _ask(page, "Honey bees visit orchards.")
    page.wait_for_selector("#row-2")
    assert _coloured(page) == ["orchards"]
    page.focus("#row-2 summary")
    assert _coloured(page) == ["bees"]
    page.hover("#row-1")
    assert _coloured(page) == ["orchards"]
    page.click("text=URI")
    page.wait_for_selector("#status:has-text('Copied')", state="attached")
    page.click(".again summary")
    page.focus("#text")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")
    assert page.input_value("#text") == "o\nhttp://x.org/bee"
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == DESK
    _drop(page, "tax.txt", "Tax law")
    page.wait_for_selector("#row-1:has-text('Tax law')")
    page.goto(address)
    _ask(page, "Zzz.")
    page.wait_for_selector("text=There is no suggestion.")
    assert page.input_value("#text") == "Zzz."
    assert violations(page) == []
    page.goto(f"{address}/api")
    assert violations(page) == []
    context.close()


def test_a_file_dropped_on_the_overview_joins_the_documents(browser: Browser, address: str) -> None:
    with visiting(browser, address, "Ann") as page:
        page.goto(f"{address}/review/overview")
        page.set_input_files("#files", {"name": "bees.txt", "mimeType": "text/plain", "buffer": b"Bees."})
        page.wait_for_selector(".drop output:has-text('bees.txt')")
        _drop(page, "wasps.txt", "Wasps fly.")
        page.wait_for_selector("text=Documents added: 1")
        page.fill("#filter", "wasps")
        page.press("#filter", "Enter")
        page.wait_for_selector("tbody:has-text('wasps.txt')")
        assert page.locator("tbody tr").count() == 1


def _drop(page: Page, name: str, text: str) -> None:
    script = """([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name, { type: "text/plain" }));
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    page.evaluate(script, [name, text])


def test_the_evidence_of_another_suggestion_is_marked_without_scripts(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    _ask(page, "Honey bees visit orchards.")
    page.click("#row-2 summary")
    page.click("#row-2 button")
    assert _coloured(page) == ["bees"]
    context.close()
