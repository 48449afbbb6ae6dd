"""The page of ``mmopt studio`` in a real browser.

Guards mmopt/studio/page: what a reader does with it, that it asks for nothing elsewhere, that the
content's policy holds. Times are printed (``-s``) and never asserted.
"""

# ruff: noqa: E501 (expressions of JavaScript stay whole)
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from mmopt.language import Program
from mmopt.studio.calls import CELLS, MULTIPLIERS, TEXT_BYTES, TEXTBOOK
from tests.studio.chromium import Browser, Studio, chromium, studio

pytestmark = pytest.mark.browser

TABS = ("program", "solution", "multipliers", "compare", "quiz")
CURVED = """program sums
title "Two numbers"
choose
    x: scalar
    y: scalar
minimize
    x**2 + y
subject to
    near: x + y == 1
    far: sqrt(y) <= 2
"""
LARGEST = """program largest
title "The largest sum"
choose
    x: scalar
    y: scalar
maximize
    x + 2 * y
subject to
    first: x + y <= 4
    second: x <= 3
    third: x >= 0
    fourth: y >= 0
"""
SMALLEST = """program smallest
title "The smallest sum"
choose
    x: scalar
    y: scalar
minimize
    x**2 + y**2
subject to
    first: x + y >= 4
    second: x <= 1
"""


def said(what: str, seconds: float, wanted: str) -> None:
    """Print a time."""
    print(f"\n[time] {what}: {seconds:.3f} s (wanted: {wanted})", flush=True)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture(scope="module")
def server(browser: Browser) -> Iterator[Studio]:
    with studio() as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Studio) -> Iterator[Browser]:
    """The page as it opens; at the end nothing was requested elsewhere and the console holds no error."""
    browser.errors()
    browser.requests()
    browser.size(1400)
    browser.scheme("light")
    browser.open(server.address)
    yield browser
    assert browser.errors() == []
    foreign = [url for url in browser.requests() if not url.startswith((server.origin, "data:", "about:"))]
    assert foreign == []


def figures(page: Browser) -> tuple[float, float]:
    """Objective and bound as shown."""
    values = page.js(
        "[...document.querySelectorAll('#panel-solution .figure dd:nth-of-type(1)')].map(e => e.innerText)"
    )
    return number(values[0]), number(values[1])


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def bound(page: Browser) -> float:
    """The bound that the picture of multipliers shows."""
    return number(
        page.js("document.querySelector('#panel-multipliers .bar text').textContent.split(' ').at(-1)")
    )


def press(page: Browser, words: str, panel: str) -> None:
    """Click a button of a view by its words."""
    page.js(
        "[...document.querySelectorAll(`#panel-${arguments[0]} button`)].find(b => b.textContent === arguments[1]).click()",
        panel,
        words,
    )


# -- the editor


def test_from_the_start_to_the_first_tree(browser: Browser) -> None:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mmopt.studio.server, mmopt.cli"], check=True)
    imports = time.perf_counter() - started
    started = time.perf_counter()
    with studio() as server:
        printed = time.perf_counter() - started
        browser.open(server.address)
        browser.wait("document.querySelector('#panel-program .tree') !== null")
        whole = time.perf_counter() - started
        assert browser.text("#panel-program h2") == Program.load("l2_strategy").title
    said(f"start to the first tree, beyond imports of {imports:.2f} s", whole - imports, "under 3")
    said("start to the address, imports and all", printed, "no limit")


def test_a_mistake_is_marked_at_its_place_and_undo_takes_it_back(page: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    before = page.js("document.querySelector('#text').value")
    page.program(CURVED)
    assert page.text("#count") == "1 problem."
    row = CURVED.splitlines().index("    far: sqrt(y) <= 2")
    marked = page.js(
        "[...document.querySelectorAll('.paint > div')].map(d => [...d.querySelectorAll('.wavy')].map(s => s.textContent).join(''))"
    )
    assert marked[row].startswith("sqrt(y)")
    assert not any(marked[:row]) and not any(marked[row + 1 :])
    assert page.text("#problems .where").startswith(f"{row + 1}:")
    page.find("#problems button").send_keys(Keys.ENTER)
    chosen = page.js(
        "(t => t.value.slice(t.selectionStart, t.selectionEnd))(document.querySelector('#text'))"
    )
    assert page.js("document.activeElement.id") == "text" and chosen == marked[row]
    page.find("#text").send_keys(Keys.CONTROL, "z")
    page.wait("document.querySelector('#text').value === arguments[0]", before)
    page.wait("document.querySelector('#count').textContent === 'No problems.'")


def test_a_long_text_is_drawn_once_and_undo_takes_it_back(page: Browser) -> None:
    before = page.js("document.querySelector('#text').value")
    page.driver.execute_script(
        "window.drawn = 0;"
        "new MutationObserver(() => window.drawn++).observe(document.querySelector('.paint'), {childList: true});"
        "window.inputs = 0; document.querySelector('#text').addEventListener('input', () => Promise.resolve().then(() => window.inputs++))"
    )
    many = LARGEST + "".join(f"    line{i}: x <= {i + 9}\n" for i in range(90))
    page.js("document.querySelector('#count').textContent = ''")
    page.js("location.hash = 'text=' + encodeURIComponent(arguments[0])", many)
    page.settle()
    assert page.js("document.querySelector('#text').value") == many
    assert page.js("window.drawn") < 10 < page.js("window.inputs")
    page.js("document.querySelector('#text').focus(), document.execCommand('undo')")
    for _ in range(5):
        if page.js("document.querySelector('#text').value") != before:
            page.js("document.execCommand('undo')")
    assert page.js("document.querySelector('#text').value") == before


def test_of_a_text_by_link_no_more_is_taken_than_is_read(page: Browser, server: Studio) -> None:
    page.open(f"{server.address}&text={quote(LARGEST + '#' * 20_000)}")
    assert page.text("#problems").startswith(f"the text has more than {TEXT_BYTES:,} bytes")
    assert page.js("document.querySelector('#text').value.length") == TEXT_BYTES + 1


def test_a_text_that_cannot_be_read_is_marked(page: Browser) -> None:
    page.program(SMALLEST.replace("x**2 + y**2", "x**2 + z**2"))
    assert page.js("document.querySelector('.wavy').textContent") == "z"
    assert "mistake" in page.text("#panel-program .note")


def test_html_is_text(page: Browser) -> None:
    evil = "<img src=x onerror=alert(1)><b>bold</b>"
    text = SMALLEST.replace("The smallest sum", evil).replace(
        "choose", f"about\n    {evil} and <script>alert(2)</script>\nchoose"
    )
    page.program(text.replace("x: scalar", f'x: scalar "{evil}"'))
    assert evil in page.text("#panel-program h2")
    page.program(text + "    <b>mistake</b>: x <= <img>\n")
    assert page.js("document.querySelectorAll('#problems button').length") >= 1
    assert page.js("document.querySelectorAll('img, b, main script').length") == 0
    page.program(text)
    page.solve()
    assert page.js("document.querySelectorAll('img, b, main script').length") == 0


def test_keys_alone(page: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def keys(*names: str) -> None:
        ActionChains(page.driver).send_keys(*names).perform()

    page.program(Program.load("l2_strategy").text.replace("trace(W", "-trace(W"))
    page.js("(document.querySelector('#programs').focus(), 1)")
    order = []
    for _ in range(20):
        order.append(page.js("document.activeElement.id || document.activeElement.className"))
        keys(Keys.TAB)
    places = [
        order.index(name)
        for name in ("programs", "queries", "solve", "share", "text", "problem", "tab-program")
    ]
    assert places == sorted(places)
    page.js("(document.querySelector('#tab-program').focus(), 1)")
    for name in (*TABS[1:], TABS[0]):
        keys(Keys.ARROW_RIGHT)
        assert page.js("document.activeElement.id") == f"tab-{name}"
        shown = page.js(
            "[...document.querySelectorAll('[role=tabpanel]')].filter(p => !p.hidden).map(p => p.id)"
        )
        assert shown == [f"panel-{name}"]
    keys(Keys.END)
    assert page.js("document.activeElement.id") == "tab-quiz"
    keys(Keys.HOME)
    page.program(SMALLEST)
    ActionChains(page.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    page.wait("document.querySelectorAll('#panel-solution .figure').length > 0")


def test_a_node_and_its_text_are_tied(page: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    node = page.find("#panel-program .node")
    ActionChains(page.driver).move_to_element(node).perform()
    page.wait("document.querySelector('.paint .pointed')?.textContent.startsWith('trace')")
    node.click()
    assert page.js("document.activeElement.id") == "text"


# -- solving


def test_a_solve_with_its_bound_its_errors_and_what_is_old(page: Browser) -> None:
    said("solve of 16 prefixes to its picture", page.solve(), "no limit")
    objective, below = figures(page)
    first = page.text("#panel-solution .figure dd")
    assert 0 < below <= objective < below * (1 + 1e-5)
    assert page.js("document.querySelector('#panel-solution canvas').width") == 16
    words = page.text("#panel-solution")
    assert words.count(first) == 1 and "Solution." not in words
    assert words.count("error bound: ") == 1 and "error bound is on" in words
    assert page.js(
        "[...document.querySelectorAll('#panel-solution .row-numbers span')].map(e => e.textContent)"
    ) == [str(row) for row in range(1, 17)]
    colours = "document.querySelector('#panel-solution canvas').toDataURL()"
    light = page.js(colours)
    page.scheme("dark")
    page.wait(f"{colours} !== arguments[0]", light)
    page.scheme("light")
    page.wait(f"{colours} === arguments[0]", light)
    high = "Math.max(...[...document.querySelectorAll('#panel-solution .chart')[0].querySelectorAll('title')].map(t => Number(t.textContent.split(': ').at(-1)) || 0))"
    before = page.js(high)
    page.set("#panel-solution input[type=range]", 0)
    assert "0.1" in page.text("#panel-solution .row output")
    assert page.js(high) > 2 * before > 0
    page.set("#weighed", 16)
    page.wait("document.querySelector('#stop').disabled && !document.querySelector('#panel-solution .note')")
    page.wait("document.querySelector('#panel-solution .figure dd').innerText !== arguments[0]", first)
    weighted, _ = figures(page)
    assert weighted > objective * 1.5
    page.program(page.js("document.querySelector('#text').value") + "\n# a remark\n")
    assert "another text" in page.text("#panel-solution .note")


def test_cells_by_slider(page: Browser) -> None:
    assert page.js("document.querySelector('#cells').max") == str(CELLS)
    page.set("#cells", 4)
    page.solve()
    for _ in range(2):
        for cells in (64, 4):
            started = time.perf_counter()
            page.set("#cells", cells)
            page.wait("document.querySelector('#panel-solution canvas')?.width === arguments[0]", cells)
            spent = time.perf_counter() - started
            said(f"cells to {cells} by slider, to the picture", spent, "under 0.4")
    assert page.js("document.querySelector('#stop').disabled")


LONG = Program.load("l2_strategy_lmi").text


def test_a_check_while_a_solve_runs_and_stop(page: Browser) -> None:
    page.program(LONG)
    page.set("#queries", "ranges")
    page.set("#cells", 48)
    page.set("#solvers", "scs")
    page.click("#solve")
    page.wait("!document.querySelector('#stop').disabled")
    time.sleep(2)
    started = time.perf_counter()
    page.program(CURVED)
    said(
        "check while a solve runs, with 0.15 of waiting for the next key",
        time.perf_counter() - started,
        "under 0.3",
    )
    assert page.text("#count") == "1 problem."
    assert not page.js("document.querySelector('#stop').disabled")
    started = time.perf_counter()
    page.click("#stop")
    page.wait("document.querySelector('#stop').disabled")
    said("Stop to 'Stopped.'", time.perf_counter() - started, "at once")
    assert page.text("#status") == "Stopped."
    page.program(SMALLEST)
    page.set("#solvers", "")
    said("the next solve", page.solve(), "no limit")
    objective, below = figures(page)
    assert 0 < below <= objective < 10.0001


def test_as_i_type(page: Browser) -> None:
    page.program(SMALLEST)
    page.click("#as-i-type")
    page.wait("document.querySelectorAll('#panel-solution .figure').length > 0")
    page.wait("document.querySelector('#stop').disabled")
    before, _ = figures(page)
    page.program(SMALLEST.replace(">= 4", ">= 6"))
    page.wait(
        "document.querySelector('#stop').disabled && !document.querySelector('#panel-solution .note')"
        " && document.querySelectorAll('#panel-solution .figure').length > 0"
    )
    assert figures(page)[0] > before * 1.5
    page.program(SMALLEST.replace(">= 4", ">= 6") + "#")
    page.wait(
        "!document.querySelector('#stop').disabled || document.querySelector('#status').textContent === 'Solved.'"
    )
    page.program(SMALLEST.replace(">= 4", ">= 6"))
    page.wait("document.querySelector('#stop').disabled && !document.querySelector('#panel-solution .note')")


def test_a_workload_file_and_its_mistake(page: Browser) -> None:
    page.set("#queries", "file")
    wrong = "domain:\n  age: {bins: [0, 1, 2, 3, 4]}\nworkload:\n  - product: {agee: prefix}\n"
    page.write("#file", wrong)
    page.solve()
    assert "agee" in page.text("#panel-solution .problem")
    assert page.text("#panel-solution .where").startswith("workload file, 4:")
    assert page.find("#file").get_attribute("aria-invalid") == "true"
    page.find("#panel-solution .problem").click()
    chosen = page.js("(t => t.value.slice(t.selectionStart, t.selectionEnd))(document.activeElement)")
    assert chosen and chosen in "{agee: prefix}"
    page.write("#file", wrong.replace("agee", "age"))
    page.solve()
    assert page.js("document.querySelector('#panel-solution canvas').width") == 4
    assert page.find("#file").get_attribute("aria-invalid") == "false"


@pytest.mark.parametrize("name", ["certificate", "minimized", "maximized"])
def test_multipliers(page: Browser, name: str) -> None:
    if name != "certificate":
        page.program({"minimized": SMALLEST, "maximized": LARGEST}[name])
    page.set("#cells", 8)
    page.solve()
    objective, limit = figures(page)
    page.tab("multipliers")
    page.wait("document.querySelector('#panel-multipliers .bar text') !== null")
    best = bound(page)
    press(page, "All equal", "multipliers")
    page.wait(
        "Number(document.querySelector('#panel-multipliers .bar text').textContent.split(' ').at(-1)) !== arguments[0]",
        best,
    )
    equal = bound(page)
    sign = -1 if name == "maximized" else 1
    assert sign * equal < sign * best
    assert sign * best <= sign * objective * (1 + 1e-6 * sign)
    assert best == pytest.approx(limit, rel=1e-4)
    press(page, "The solver's", "multipliers")
    page.wait(
        "Math.abs(Number(document.querySelector('#panel-multipliers .bar text').textContent.split(' ').at(-1)) - arguments[0]) < 1e-5 * Math.abs(arguments[0])",
        best,
    )


# The texts that a part of the view of multipliers has for bounds, objectives, senses and dual functions.
DRAWN = """(async (part) => {
  const {MultipliersTab} = await import('/multipliers_tab.js');
  return Promise.all(arguments[0].map(async ([bound, objective, sense, dual]) => {
    const panel = document.createElement('div');
    const tab = new MultipliersTab(panel, async () => ({bound, grade: 'proved', why: '', dual}));
    tab.draw({objective, sense, has_certificate: arguments[1], lines: [{name: 'y'}], multipliers: [{name: 'y', shape: [], values: [1], lower: 0}]}, 24);
    await new Promise((go) => setTimeout(go, 50));
    return panel.querySelector(part).textContent;
  }));
})"""
BOUND = "Number(document.querySelector('#panel-multipliers .bar text').textContent.split(' ').at(-1))"


def test_many_multipliers_are_set_some_at_a_time(page: Browser) -> None:
    page.program(Program.load("a_optimal_design").text)
    page.set("#cells", 8)
    page.solve()
    page.tab("multipliers")
    page.wait("document.querySelector('#panel-multipliers .bar text') !== null")
    best = bound(page)
    assert best == pytest.approx(figures(page)[1], rel=1e-4)
    sliders = "document.querySelectorAll('#panel-multipliers .slider').length"
    assert page.js(sliders) == MULTIPLIERS
    assert f"of {8 * 8}, the largest first. All others stay" in page.text("#panel-multipliers")
    page.set("#panel-multipliers .slider input", 100)
    page.wait(f"{BOUND} < 0.99 * arguments[0]", best)
    moved = bound(page)
    page.set("#panel-multipliers select", 2)
    assert page.js(sliders) == 8 * 8 - 2 * MULTIPLIERS
    # What has no slider now stays as it was left.
    page.set("#panel-multipliers .slider input", page.js("document.querySelector('.slider input').value"))
    time.sleep(0.5)
    assert bound(page) == pytest.approx(moved, rel=1e-4)
    press(page, "The solver's", "multipliers")
    page.wait(f"{BOUND} > 0.9999 * arguments[0]", best)


def test_what_multipliers_prove_is_rounded_to_the_safe_side(page: Browser) -> None:
    bounds = [
        (99.9876, 100, "minimize"),
        (99.9995555, 100, "minimize"),
        (100, 100, "minimize"),
        (100, 99.9876, "maximize"),
        (-1.23456789012, -1, "minimize"),
        (None, 1, "minimize"),
    ]
    alone, with_ranges = (
        page.js(f"{DRAWN}('[role=status]')", bounds, is_alone) for is_alone in (True, False)
    )
    assert alone == [
        "These multipliers prove 99.98 % of the objective reached.",
        "These multipliers prove all but 4.5e−6 of the objective reached.",
        "These multipliers prove all of the objective reached.",
        "These multipliers prove that no feasible point is above 100. The objective reached is 99.98 % of it.",
        "These multipliers prove that no feasible point is below −1.234567891.",
        "No bound is proved with these multipliers.",
    ]
    start = "With these multipliers and the ranges of the variables it is proved that no feasible point is"
    assert with_ranges == [
        f"{start} below 99.9876, 99.98 % of the objective reached.",
        f"{start} below 99.9995555, all but 4.5e−6 of the objective reached.",
        f"{start} below 100, all of the objective reached.",
        f"{start} above 100. The objective reached is 99.98 % of it.",
        f"{start} below −1.234567891.",
        "No bound is proved with these multipliers.",
    ]


def test_the_dual_function_stands_beside_the_bound_and_the_objective_to_the_nearest(page: Browser) -> None:
    bounds = [
        (7.7, 10.99999999999, "minimize"),
        (7.7, 10.99999999999, "minimize", {"value": None}),
        (12, 11.00000000001, "maximize", {"value": None}),
        (7.7, 10.99999999999, "minimize", {"value": 6.5}),
        (7.7, 11, "minimize", {"value": 11.001}),  # which no dual function is: the solver is wrong
        (12, 11, "maximize", {"value": 10.999}),
    ]
    assert page.js(f"{DRAWN}('.bar')", bounds, False) == [
        "lower bound 7.7objective reached 11",
        "lower bound 7.7objective reached 11dual function −∞",
        "upper bound 12objective reached 11dual function +∞",
        "lower bound 7.7objective reached 11dual function 6.5",
        "lower bound 7.7objective reached 11",
        "upper bound 12objective reached 11",
    ]
    sentences = page.js(f"{DRAWN}('div + p')", bounds, False)
    assert {*sentences[:1], *sentences[4:]} == {"The value of the dual function was not determined here."}
    assert [words.split(" is ")[1][:2] for words in sentences[1:4]] == ["−∞", "+∞", "6."]
    assert page.js(f"{DRAWN}('div + p')", bounds[:1], True) == [""]


def test_a_matrix_inequality_has_a_slider_for_each_pair(page: Browser) -> None:
    page.js("(location.hash = 'program=max_cut', 1)")
    page.wait("document.querySelector('#programs').value === 'max_cut'")
    page.tab("solution")
    page.wait("document.querySelector('#panel-solution').innerText === 'Press Solve.'")
    page.solve()
    page.tab("multipliers")
    page.wait("document.querySelector('#panel-multipliers .bar text') !== null")
    names = [e.text.split("\n")[0] for e in page.all("#panel-multipliers .slider")]
    assert names[5:] == [f"whole[{i}, {j}]" for i in range(5) for j in range(i, 5)]
    press(page, "All equal", "multipliers")
    values = [number(e.text) for e in page.all("#panel-multipliers .slider output")][5:]
    diagonal = [values[at] for at in (0, 5, 9, 12, 14)]
    assert min(diagonal) == max(diagonal) > 0 and sorted(values)[:10] == [0] * 10
    page.wait("document.querySelector('#panel-multipliers .bar').textContent.includes('+∞')")
    # Of the multipliers that are sent: both entries of a pair.
    sent = """import('/multipliers_tab.js').then(async ({MultipliersTab}) => {
      const panel = document.createElement('div'), seen = [];
      const tab = new MultipliersTab(panel, async (multipliers) => { seen.push(multipliers); return {bound: 1}; });
      tab.draw({objective: 2, sense: 'minimize', lines: [{name: 'm'}], multipliers: [{name: 'm', shape: [2, 2], values: [1, 2, 2, 3], lower: null, symmetric: true}]}, 24);
      const input = panel.querySelectorAll('.slider input')[1];
      input.value = 200;
      input.dispatchEvent(new Event('input'));
      await new Promise((go) => setTimeout(go, 50));
      return seen.map(({m}) => m);
    })"""
    assert page.js(sent) == [[[1, 2], [2, 3]], [[1, 0], [0, 3]]]


def test_a_bound_that_is_computed_is_waited_for_in_words(page: Browser) -> None:
    words = """import('/multipliers_tab.js').then(async ({MultipliersTab}) => {
      const panel = document.createElement('div'), answers = [], seen = [];
      const tab = new MultipliersTab(panel, () => new Promise((answer) => answers.push(answer)));
      tab.draw({objective: 2, sense: 'minimize', lines: [{name: 'm'}], multipliers: [{name: 'm', shape: [], values: [1], lower: 0}]}, 24);
      const see = async (wait) => {
        await new Promise((go) => setTimeout(go, wait));
        seen.push(panel.querySelector('[role=status]').textContent);
      };
      await see(0);
      answers[0]({bound: 1});
      await see(500);
      panel.querySelector('button').click();
      await see(500);
      answers[1]({bound: null});
      await see(500);
      return seen;
    })"""
    first, second, third, last = page.js(words)
    assert first == third == "Computing the bound…"
    assert "no feasible point is below 1, 50 %" in second and last.startswith("No bound is proved")


def test_compare(page: Browser) -> None:
    page.set("#cells", 6)
    page.tab("compare")
    page.find("#panel-compare button.main").click()
    page.wait("document.querySelector('#panel-compare [role=status]').textContent === 'Compared.'")
    rows = page.js("[...document.querySelectorAll('#panel-compare tbody tr')].map(r => r.innerText)")
    assert len(rows) >= 4
    assert any("l2_strategy_lmi" in row and "clarabel" in row for row in rows)
    assert page.js("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('#panel-compare .scroll'))")
    page.program(SMALLEST.replace("x: scalar", "x: scalr"))
    page.find("#panel-compare button.main").click()
    page.wait("document.querySelector('#panel-compare [role=status]').innerText.includes('scalr')")
    assert page.text("#panel-compare [role=status]").endswith("'scalr' —\ndid you mean 'scalar'?")


def test_a_comparison_ends_a_solve_which_says_so(page: Browser) -> None:
    page.program(LONG)
    page.set("#queries", "ranges")
    page.set("#cells", 48)
    page.set("#solvers", "scs")
    page.click("#solve")
    page.wait("document.querySelector('#panel-solution').innerText.startsWith('Solving')")
    page.tab("compare")
    page.find("#panel-compare button.main").click()
    page.wait("document.querySelector('#panel-solution').textContent.startsWith('Stopped.')")
    page.set("#cells", 47)  # goes on beside the comparison, which is marked
    page.wait("document.querySelector('#panel-compare > .note') !== null")
    assert page.text("#panel-compare [role=status]") == "Comparing."
    page.click("#stop")
    page.wait("document.querySelector('#panel-compare [role=status]').textContent === 'Stopped.'")


# -- addresses


def test_an_address_is_shared_and_a_reload_brings_the_same_page(page: Browser, server: Studio) -> None:
    page.program(SMALLEST)
    page.set("#cells", 7)
    page.tab("quiz")
    address = page.js("location.href")
    assert "token" not in address and "text=" in address
    page.driver.refresh()
    page.settle()
    assert page.js("document.querySelector('#text').value") == SMALLEST
    page.open(address)
    assert page.js("document.querySelector('#text').value") == SMALLEST
    assert page.js("document.querySelector('#cells').value") == "7"
    assert page.js("!document.querySelector('#panel-quiz').hidden")
    page.open(server.origin + "#text=" + quote(LARGEST))
    assert page.js("document.querySelector('#text').value") == LARGEST


def test_a_link_is_what_it_says_and_marks_what_was_solved_before(page: Browser) -> None:
    page.set("#cells", 6)
    page.set("#weighed", 3)
    page.set("#solvers", "scs")
    page.solve()
    before = page.js("document.querySelector('#text').value")
    for cells, queries in (("9", "ranges"), ("5", "prefix")):
        page.js(f"(location.hash = 'program=l2_strategy&cells={cells}&queries={queries}&tab=solution', 1)")
        page.wait("document.querySelector('#cells').value === arguments[0]", cells)
        page.wait("document.querySelector('#panel-solution .note') !== null")
        assert (
            page.js("document.querySelector('#weighed').value + document.querySelector('#solvers').value")
            == ""
        )
        assert page.js("document.querySelector('#text').value") == before
    page.driver.back()
    page.wait("document.querySelector('#cells').value === '9'")


def test_a_link_says_what_is_not_there_until_the_next_one(page: Browser) -> None:
    page.js("(location.hash = 'program=diet&queries=none&query=17&times=0&cells=999', 1)")
    page.wait("document.querySelector('#programs').value === 'diet'")
    assert page.text("#status") == (
        "There is no number of cells '999', no choice of queries 'none', no query '17', "
        "no factor of a squared error '0'."
    )
    page.js("(location.hash = 'program=diet&queries=ranges&query=17&times=2', 1)")
    page.wait("document.querySelector('#weighed').value === '17'")
    assert page.text("#status") == "" and page.js("document.querySelector('#times').value") == "2"


def test_what_is_set_outlasts_a_reload(page: Browser) -> None:
    text = "domain:\n  age: {bins: [0, 1, 2, 3, 4]}\nworkload:\n  - product: {age: prefix}\n"
    page.set("#solvers", "clarabel")
    page.set("#queries", "file")
    page.write("#file", text)
    page.solve()
    assert page.text("#status") == "Solved."
    page.driver.refresh()
    page.settle()
    assert page.js("document.querySelector('#solvers').value") == "clarabel"
    assert page.js("document.querySelector('#file').value") == text


def test_a_page_takes_the_address_of_the_next_start(browser: Browser) -> None:
    """Also one that was loaded in between; its text stays."""
    with studio() as server:
        browser.open(server.address)
        browser.program(SMALLEST)
        port = int(server.origin.rstrip("/").rpartition(":")[2])
        server.end()
    for is_reloaded in (False, True):
        with studio(port) as server:
            if is_reloaded:
                browser.driver.refresh()
                browser.wait("!document.querySelector('#banner').hidden")
            browser.js("(location.hash = arguments[0], 1)", server.address.partition("#")[2])
            browser.wait("document.querySelector('#programs').options.length > 1")
            browser.wait("document.querySelector('#text').value === arguments[0]", SMALLEST)
            browser.settle()
            browser.solve()
            assert browser.text("#status") == "Solved."
            server.end()
    browser.errors()


def test_a_link_without_a_token_takes_it_from_an_open_page_and_else_says_what_to_do(
    page: Browser, server: Studio
) -> None:
    first = page.driver.current_window_handle
    # Another page of its own session, as a link opened from elsewhere.
    page.driver.switch_to.new_window("tab")
    try:
        page.driver.get(server.origin + "#program=gamma_2")
        page.settle()
        assert page.js("document.querySelector('#text').value") == Program.load("gamma_2").text
        second = page.driver.current_window_handle
        for token in ("wrong", "%E2%82%AC"):  # neither kept nor handed on; no header carries the second
            page.driver.get("about:blank")
            page.driver.get(f"{server.origin}#token={token}")
            page.settle()
            assert page.js("document.querySelector('#banner').hidden")
        page.driver.switch_to.window(first)
        page.driver.get("about:blank")
        page.driver.switch_to.window(second)
        page.js("sessionStorage.clear()")
        page.driver.get("about:blank")
        page.driver.get(server.origin + "#program=gamma_2")
        page.wait("!document.querySelector('#banner').hidden")
        assert "Start “mmopt studio”" in page.text("#banner")
    finally:
        page.driver.close()
        page.driver.switch_to.window(first)


def test_two_pages_at_once(page: Browser, server: Studio) -> None:
    """A solve of one page goes on while another checks, solves and stops."""
    first = page.driver.current_window_handle
    page.program(LONG)
    page.set("#queries", "ranges")
    page.set("#cells", 48)
    page.set("#solvers", "scs")
    page.click("#solve")
    page.wait("!document.querySelector('#stop').disabled")
    page.driver.switch_to.new_window("tab")
    try:
        page.size(1400)
        page.driver.get(server.address)
        page.settle()
        started = time.perf_counter()
        page.program(SMALLEST)
        said("check of a second page while the first solves", time.perf_counter() - started, "as of one page")
        said("solve of a second page while the first solves", page.solve(), "as of one page")
        assert figures(page)[1] > 0
        page.js("fetch && document.querySelector('#stop').click()")
    finally:
        page.driver.close()
        page.driver.switch_to.window(first)
    assert not page.js("document.querySelector('#stop').disabled")
    assert "Stopped" not in page.text("#status")
    page.click("#stop")
    page.wait("document.querySelector('#stop').disabled")


def test_a_page_whose_server_has_ended_says_so_and_keeps_its_text(browser: Browser) -> None:
    with studio() as server:
        browser.open(server.address)
        server.end()
        browser.write("#text", SMALLEST)
        browser.wait("!document.querySelector('#banner').hidden")
    assert "does not answer" in browser.text("#banner")
    assert browser.js("document.querySelector('#text').value") == SMALLEST
    assert "smallest" in browser.js("location.hash")
    assert browser.errors() == []


# -- the quiz


def test_every_example_of_the_quiz_asks_gives_nothing_away_and_answers(page: Browser) -> None:
    page.tab("quiz")
    count = page.js("document.querySelectorAll('#panel-quiz optgroup option').length")
    assert count == 20
    for number in range(1, count + 1):
        page.js("document.querySelector('#count').textContent = ''")
        page.set("#panel-quiz select", number)
        page.settle()
        page.wait("document.querySelectorAll('#panel-quiz .tree select').length > 0")
        # Words in what is seen, and in all attributes, but for the choices.
        away = page.js(
            """(() => {
              const copy = document.querySelector('main').cloneNode(true);
              copy.querySelectorAll('option, #text, [role=tabpanel]:not(#panel-quiz)').forEach(e => e.remove());
              copy.querySelectorAll('#panel-quiz h2 + p').forEach(e => e.remove());
              const words = [copy.textContent, document.title, document.querySelector('header').innerText];
              for (const e of copy.querySelectorAll('*')) for (const a of e.attributes) if (a.name !== 'class' || e.closest('#panel-quiz, .editor')) words.push(a.value);
              return words.join('\\n').match(/\\b(convex|concave|affine|constant|refused|accepted|blamed|wavy)\\b/g);
            })()"""
        )
        allowed = page.js("[...document.querySelectorAll('#panel-quiz [aria-label$=accepted]')].length")
        assert (away or []) == ["accepted"] * allowed, number
        title = page.js("/^title *\"(.*)\"$/m.exec(document.querySelector('#text').value)[1]")
        words = seen(page)
        assert "subject to" in words and f'"{title}"' not in words, number
        numbers = page.js(
            "[...document.querySelectorAll('#panel-quiz .tree select')].filter(s => /of [−\\d.]+$/.test(s.getAttribute('aria-label'))).length"
        )
        assert numbers == 0
        page.js(
            "(document.querySelectorAll('#panel-quiz select').forEach((s, i) => { if (i) s.selectedIndex = 1 + i % (s.options.length - 1); }), 1)"
        )
        page.click("#solve")
        assert page.text("#status").startswith("Press Show first"), number
        press(page, "Show", "quiz")
        asked = page.js("document.querySelectorAll('#panel-quiz .reply').length")
        assert page.text("#panel-quiz [role=status]").split(" of ")[1] == f"{asked} right."
        answers = page.js(
            "[...document.querySelectorAll('#panel-quiz .reply .badge')].map(b => b.textContent.split(' ')[0])"
        )
        assert len(answers) == asked
        assert set(answers) <= {"constant", "affine", "convex", "concave", "neither", "accepted", "refused"}
        assert f'"{title}"' in seen(page)


def seen(page: Browser) -> str:
    """All words that a screen reader is given."""
    page.driver.execute_cdp_cmd("Accessibility.enable", {})
    nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    page.driver.execute_cdp_cmd("Accessibility.disable", {})
    return "\n".join(
        str(node.get(part, {}).get("value", ""))
        for node in nodes
        for part in ("name", "value", "description")
    )


def test_a_covered_text_is_written_beside_another_view(page: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    page.tab("quiz")
    assert page.js("document.querySelector('#text').hidden") and page.find("#covered").get_attribute(
        "readonly"
    )
    page.tab("program")
    page.program(SMALLEST)
    page.tab("quiz")
    assert "The smallest sum" not in page.js("document.querySelector('#covered').value")
    page.tab("program")
    page.find("#text").send_keys(Keys.CONTROL, "z")
    page.wait("document.querySelector('#text').value !== arguments[0]", SMALLEST)


# -- how it looks

WIDE = """program wide
title "Long lines"
about
    A line that is long: one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen.
choose
    averyveryverylongnameofavariablethatgoesonandon: scalar
    b: vector[12]
minimize
    square(averyveryverylongnameofavariablethatgoesonandon) + sum(b**2) + square(averyveryverylongnameofavariablethatgoesonandon - 3) + sum(square(b - averyveryverylongnameofavariablethatgoesonandon))
subject to
    averyveryverylonglabelofaline: averyveryverylongnameofavariablethatgoesonandon + sum(b) >= 1
"""
CONTRAST = """(() => {
  const rgb = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return text.startsWith('color(srgb') ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] : [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map(i => a[3] * a[i] + (1 - a[3]) * b[i]).concat(1);
  const light = (c) => { const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { const stack = []; for (let n = e; n; n = n.parentElement) stack.push(rgb(getComputedStyle(n).backgroundColor)); return stack.reverse().reduce((b, c) => over(c, b), [255, 255, 255, 1]); };
  const bad = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest('textarea, option, .covered, :disabled, noscript')) continue;
    const style = getComputedStyle(e), back = behind(e);
    let front = rgb(e.closest('svg') ? style.fill : style.color);
    for (let n = e; n; n = n.parentElement) front[3] *= Number(getComputedStyle(n).opacity);
    const [a, b] = [light(over(front, back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`${walk.currentNode.data.trim().slice(0, 40)} (${e.tagName}.${e.className}): ${ratio.toFixed(2)}`);
  }
  return bad;
})()"""


def test_results_are_at_hand_on_a_narrow_screen(page: Browser) -> None:
    page.size(400, 900)
    for tab in TABS:
        assert page.js(
            "document.querySelector('[role=tablist]').getBoundingClientRect().bottom <= innerHeight"
        )
        page.tab(tab)
        top = page.js("document.querySelector(`#panel-${arguments[0]}`).getBoundingClientRect().top", tab)
        assert -1 <= top < 450


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_no_page_is_wider_than_its_window_and_all_texts_have_contrast(
    page: Browser, width: int, scheme: str
) -> None:
    page.size(width, 900)
    page.scheme(scheme)

    def look(where: str) -> None:
        assert page.js("(e => e.scrollWidth <= e.clientWidth)(document.documentElement)"), where
        assert page.js(CONTRAST) == [], where

    texts = {"wide": WIDE, "curved": CURVED, "large": Program.load("l2_strategy").text}
    texts["signed"] = (TEXTBOOK / "max-cut.program").read_text()
    for name, text in texts.items():
        page.click("#tab-program")  # the quiz does not solve
        page.program(text)
        if name == "large":
            page.set("#cells", 24)
        page.solve()
        for tab in TABS:
            page.click(f"#tab-{tab}")
            page.js("(document.querySelectorAll('details').forEach(d => { d.open = true; }), 1)")
            if tab == "multipliers":
                page.js(
                    "(document.querySelectorAll('.slider input').forEach(e => { e.value = 199.999; e.dispatchEvent(new Event('input')); }), 1)"
                )
            page.wait("document.querySelector('#panel-multipliers [aria-busy=true]') === null")
            time.sleep(0.1)
            look(f"{name}: {tab}")
            assert page.js(
                "[...document.querySelectorAll('.slider, .slider > *')].every(e => e.scrollWidth <= e.clientWidth)"
            )
            if tab == "quiz":
                press(page, "Show", "quiz")
                look(f"{name}: {tab}, answered")
    page.program("program\n  what is this <\n")
    look("mistakes")
