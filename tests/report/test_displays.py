"""Displays of each result in a notebook: well-formed, escaped, and nothing loaded.

Guards display_base_classes.py, solution_and_comparison_tables.py, accuracy_release_and_ledger_tables.py,
program_tables_and_forecasts.py, table_style.py and report/explain/explained_facts.py.
"""

import re

import numpy as np
import pytest

import mmopt
from mmopt import Comparison, Program
from mmopt.language import program_names
from mmopt.report import display
from mmopt.results import Frame, Verification
from mmopt.results.status_grade_and_verification import Check
from mmopt.strategies import StrategyForm
from tests.report.explain.test_explain import read_page

BARE = {"QueryAnswer", "Location", "PrivacyParameters"}  # a tuple, the place of an error, a dictionary

# What is shown, though nobody asks for it by its class.
OF_CALLS = {"Answers", "Baselines", "Outcome", "Plan", "Template"}

# Without any name that a user gave.
NAMELESS = {"Budget", "ComponentStrategy", "Privacy", "Strategy", "Template", "Verification"}


def test_every_public_class_has_a_display(shown: dict[str, object]) -> None:
    classes = {n for n in mmopt.__all__ if isinstance(getattr(mmopt, n), type)}
    errors = {n for n in classes if issubclass(getattr(mmopt, n), Exception)}
    assert (classes | OF_CALLS) - errors - BARE == set(shown)


def test_displays_are_well_formed_and_escaped(shown: dict[str, object]) -> None:
    for name, value in shown.items():
        text = value._repr_html_()  # type: ignore[attr-defined]
        read_page(text)
        body = re.sub("<style>.*?</style>", "", text, flags=re.DOTALL)
        assert "<script" not in body and "alert('" not in body, name
        assert ("alert(" in body) == (name not in NAMELESS), name
        assert not re.search(r"background:\s*(#|white|black)|[^-]color:\s*(#|white|black)", text), name


def test_in_a_terminal_each_is_a_line(shown: dict[str, object]) -> None:
    for name, value in shown.items():
        assert repr(value).startswith(f"{type(value).__name__}(") and repr(value).endswith(")"), name
        assert "\n" not in repr(value) and len(repr(value)) <= 200, name


def test_every_program_is_typeset_above_its_text(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            text = Program.load(name)._repr_html_()
            read_page(text)
            assert text.index("<math") < text.index("<details><summary>the whole file</summary><pre>program ")


def test_a_program_that_is_wrong_is_shown_with_its_caret() -> None:
    text = Program.load("l2_strategy").text.replace("    trace(W", "    trace(nothing @ W", 1)
    shown = Program.parse(text)._repr_html_()
    read_page(shown)
    assert '<p class="loud">' in shown and re.search(r"<pre>[^<]*\n *\^", shown)


def test_a_small_strategy_has_its_entries_and_a_large_one_has_not() -> None:
    small = mmopt.Strategy(np.tri(3))._repr_html_()
    assert small.count('<td class="number">1</td>') == 6 and small.count('<td class="number">0</td>') == 3
    large = mmopt.Strategy(np.eye(13))
    assert isinstance(large, StrategyForm) and "number" not in large._repr_html_().split("</style>")[1]


def test_numbers_stand_right_and_texts_left() -> None:
    shown = display(Frame({"x": np.array([1.5]), "t": np.array(["a"], dtype=object)}))
    assert '<td class="number">1.5</td><td class="whole">a</td>' in shown


def test_rows_below_a_name_are_indented(shown: dict[str, object]) -> None:
    text = shown["Accuracy"]._repr_html_()  # type: ignore[attr-defined]
    assert re.search(r'<th>age</th>.*\n<tr><td class="inner">  age in \[0, 18\)</td>', text)


def test_a_recheck_that_fails_is_loud() -> None:
    rows = [Check(f"row {place}", 1.0, 1.0, holds) for place, holds in enumerate((True, False))]
    for checks, tone in ((rows[:1], "strong"), (rows, "loud")):
        found = Verification("p", tuple(checks), ())
        assert f'<p class="{tone}">{found.verdict()}</p>' in found._repr_html_()


def test_what_has_no_display_is_a_mistake() -> None:
    with pytest.raises(TypeError, match=r"^a float has no display$"):
        display(1.0)


def test_a_comparison_is_the_list_that_it_was(shown: dict[str, object]) -> None:
    found = shown["Comparison"]
    assert isinstance(found, Comparison)
    one, other = found
    assert found == [one, other] and found != [other, one] and found[:1] == [one] and found[-1] is other
    assert isinstance(found[:1], Comparison) and len(found) == 2 and one in found
    assert repr(found) == "Comparison(2 outcomes, 1 with a solution)"
