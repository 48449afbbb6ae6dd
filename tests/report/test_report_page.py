"""The page of a report: whole, the same each time, and of the private table only what was released.

Guards report/explain/explanation_text_and_latex.py, report/explain/explanation_html_and_mathml.py,
accuracy_release_and_ledger_tables.py, displays_and_report_page.py.
"""

import dataclasses
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import mmopt
from mmopt import Domain, Workload
from mmopt.report import Contents, write_page
from tests.report.explain.test_explain import Page

EVIL = "<script>alert('&')</script>"


@pytest.fixture(scope="module")
def asked() -> Workload:
    domain = Domain.of(sex=["F", EVIL], age={"bins": [0, 18, 65, "open"]})
    return domain.marginal("sex") + domain.product(age="prefix", name=f"{EVIL} 女")


@pytest.fixture(scope="module")
def solution(asked: Workload) -> mmopt.Solution:
    return mmopt.solve(asked, "l2_strategy", history=True)


@pytest.fixture
def unsaved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, and not turned into SVG, which takes longest."""
    monkeypatch.setattr(
        "mmopt.report.displays_and_report_page.picture", lambda draw, kind: draw() and b"<svg></svg>"
    )


@pytest.fixture(scope="module")
def released(asked: Workload, solution: mmopt.Solution) -> mmopt.Release:
    return release(asked, solution, rows=50, seed=1)


def release(asked: Workload, solution: mmopt.Solution, rows: int, seed: int) -> mmopt.Release:
    table = {"sex": ["F"] * rows, "age": [30] * rows}
    return mmopt.release(table, asked, {"rho": 0.5}, strategy=solution, simulate=seed)


@pytest.fixture(scope="module")
def of_release(released: mmopt.Release) -> str:
    return str(released.report())


def check_page(text: str) -> None:
    """Well-formed HTML that loads nothing, whose ids are unique and all there."""
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open and not page.seen & {"script", "link", "img", "iframe"} and "http" not in text
    bare = text.replace("alert(&#x27;", "")
    assert "<script" not in bare and "alert('" not in re.sub(">[^<>]*<", "><", bare)
    assert not re.search(r'(src|href)="(?!#|data:)', text) and "@import" not in text
    ids = Counter(re.findall(r'\bid="([^"]*)"', text))
    assert ids and set(ids.values()) == {1}
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', text)) <= set(ids)


def headings(text: str) -> list[str]:
    return re.findall("<h2>(.*?)</h2>", text)


def test_a_solution_with_its_workload(asked: Workload, solution: mmopt.Solution, tmp_path: Path) -> None:
    text = solution.report(tmp_path / "page.html", asked)
    check_page(text)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    assert headings(text) == [
        *("What is asked", "Errors", "The strategy", "The program, and what was compiled"),
        *("How the gap closed", "Made with"),
    ]
    assert "Private data: none." in text and solution.workload_hash in text
    assert "What the solver gets" in text and "<math" in text
    assert solution.about_program()["program"]["sha256"] in text
    assert text.count(">total error<") == 1  # at the strategy, and not where the program is explained


def test_what_is_not_there_has_no_section(asked: Workload, solution: mmopt.Solution, unsaved: None) -> None:
    alone = dataclasses.replace(solution, history=()).report()
    assert headings(alone) == ["The strategy", "The program, and what was compiled", "Made with"]
    closed = mmopt.solve(asked, "singular_value_bound")
    assert "Errors" in headings(closed.report(workload=asked))
    product = mmopt.accuracy(asked, {"epsilon": 1.0}).solution
    assert "Errors" in headings(product.report(workload=asked))
    assert headings(write_page(Contents("title"), None)) == ["Made with"]
    compared = Contents("t", asked, comparison=mmopt.Comparison([], asked), solution=solution)
    assert "Side by side" in headings(write_page(compared, None))


def test_another_workload_is_refused(solution: mmopt.Solution, tmp_path: Path) -> None:
    other = Workload.from_matrix(np.eye(3))
    with pytest.raises(mmopt.ResultError) as caught:
        solution.report(tmp_path / "page.html", other)
    assert str(caught.value) == (
        f"the solution is for the workload {solution.workload_hash[:12]}…, this one is {other.hash[:12]}…\n"
        "  give the workload that was solved"
    )
    assert not any(tmp_path.iterdir())


def test_a_release_has_its_answers_and_says_what_is_private(
    released: mmopt.Release, of_release: str, unsaved: None
) -> None:
    check_page(of_release)
    assert headings(of_release)[:2] == ["The release", "What is asked"]
    assert "SIMULATED NOISE" in of_release and "Private data:" not in of_release
    for answer in released.answers["estimate"]:
        assert re.search(rf">-?{abs(answer):,.2f}<", of_release), answer
    private = dataclasses.replace(released, manifest={**released.manifest, "private": True})
    assert "Private data: the answers under &#x27;The release&#x27;, and nothing else." in private.report()


def test_only_the_release_depends_on_the_table(
    asked: Workload, solution: mmopt.Solution, of_release: str
) -> None:
    """Other rows, other answers: every section but that of the answers is the same."""
    other = release(asked, solution, rows=70_001, seed=2).report()
    cut = [re.split("<h2>The release</h2>|<h2>What is asked</h2>", text) for text in (of_release, other)]
    assert cut[0][0] == cut[1][0] and cut[0][1] != cut[1][1] and cut[0][2] == cut[1][2]


def test_too_much_to_draw_is_said(
    monkeypatch: pytest.MonkeyPatch, solution: mmopt.Solution, unsaved: None
) -> None:
    monkeypatch.setattr("mmopt.report.charts.MOST_DENSE", 5)
    text = solution.report()
    check_page(text.replace("<svg", '<svg id="one"', 1))
    assert "No chart: a strategy of 6 rows over 6 cells has no picture of its entries" in text
