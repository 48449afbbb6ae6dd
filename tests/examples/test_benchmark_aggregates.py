"""Figures of a benchmark against figures by hand."""

import math

import pytest

from tests.examples.scripts import scripts

aggregates = scripts("benchmark").aggregates
page = scripts("benchmark").page


def rows(*calls: tuple[str, str, float | None, float | None]) -> list[dict[str, object]]:
    return [
        {"solver": solver, "instance": instance, "gap": gap, "seconds": seconds, "cpu": seconds}
        for solver, instance, gap, seconds in calls
    ]


def test_the_time_to_an_accuracy_is_that_of_the_quickest_call_that_reached_it() -> None:
    found = rows(
        ("a", "p", 1e-2, 0.1),
        ("a", "p", 1e-4, 0.5),
        ("a", "p", 1e-7, 0.3),
        ("a", "q", None, None),
        ("b", "p", math.inf, 2.0),
        ("b", "q", 1e-3, 4.0),
    )
    times = aggregates.times_to(found, 1e-3)
    assert times == {("a", "p"): 0.3, ("a", "q"): math.inf, ("b", "p"): math.inf, ("b", "q"): 4.0}
    assert aggregates.times_to(found, 1e-2)["a", "p"] == 0.1
    # What is late does not count, by wall time also where CPU time is counted.
    late = [{**row, "cpu": 0.01} for row in found]
    assert aggregates.times_to(late, 1e-3, "cpu", 2.0)["b", "q"] == math.inf
    assert aggregates.times_to(late, 1e-3, "cpu", 5.0)["b", "q"] == 0.01
    assert aggregates.best_gaps(found) == {
        ("a", "p"): 1e-7,
        ("a", "q"): math.inf,
        ("b", "p"): math.inf,
        ("b", "q"): 1e-3,
    }


def test_shifted_geometric_means_by_hand() -> None:
    # (1 + 1) (7 + 1) = 16, its root less 1; without a shift (2 * 8) ** (1 / 2).
    assert aggregates.shifted_geometric_mean([1.0, 7.0], 1.0) == pytest.approx(3.0, rel=1e-12)
    assert aggregates.shifted_geometric_mean([2.0, 8.0], 0.0) == pytest.approx(4.0, rel=1e-12)
    assert math.isnan(aggregates.shifted_geometric_mean([], 1.0))
    # A failure counts as 8 s: (2 * 9) ** (1 / 2) - 1; as three times that: (2 * 25) ** (1 / 2) - 1.
    assert aggregates.mean_time([1.0, math.inf], 1.0, 8.0) == pytest.approx(math.sqrt(18) - 1, rel=1e-12)
    assert aggregates.mean_time([1.0, math.inf], 1.0, 8.0, 3.0) == pytest.approx(math.sqrt(50) - 1, rel=1e-12)


def test_profiles_and_words_of_a_page_by_hand() -> None:
    made = [
        {
            **row,
            "class": "LP",
            "stop": stop,
            "reason": reason,
            "word": word,
            "lower": 1.0,
            "own": None,
            "compile": 0.5,
            **dict.fromkeys((f"err{i}" for i in range(1, 7)), 1e-9),
        }
        for row, stop, reason, word in zip(
            rows(("a", "p", 1e-8, 0.1), ("a", "q", 1e-4, 0.2), ("b", "p", 1e-9, 0.3), ("b", "q", None, None)),
            ("solver finished", "gap not reached", "gap reached", "does not apply"),
            ("", "", "", "'q' does not work with b"),
            ("fine", "tired", "fine", ""),
            strict=True,
        )
    ]
    facts = {"settings": {"limit": 10.0, "shift": 0.0, "clock": "seconds"}, "machine": {"cores": 2}}
    text, charts = page.page_of("A title", made, facts)
    profile = charts["profile-all-classes.svg"]
    assert profile["gap 1e-03"] == {"a": [0.1, 0.2], "b": [0.3, math.inf]}
    assert profile["gap 1e-06"] == {"a": [0.1, math.inf], "b": [0.3, math.inf]}
    assert profile["gap 1e-09"] == {"a": [math.inf, math.inf], "b": [0.3, math.inf]}
    # All three accuracies, each charged the limit and three limits: 1e-6 is reached on one of two.
    assert "| a | 2 | 2 | 1 | 0 | 0.141 | 0.141 | 1 | 1.73 | 10 | 30 |" in text
    assert "| b | 1 | 1 | 1 | 1 | - | - | - | - | - | - |" in text
    assert '- not to 1e-06, "tired": q (1.0e-04)\n- not to 1e-09, "fine": p (1.0e-08)' in text
    assert "- does not take 1: 'q' does not work with b" in text
    assert "| a | 1e-09 / 1e-09 |" in text and "- machine: cores 2" in text
    counts = {"of the suite": 60, "chosen": 5, "done": 2}
    text, _ = page.page_of("A title", made, {**facts, "instances": counts})
    assert "**Partial: interrupted after 2 of 5 instances chosen.**" in text
    # What is reached beyond the limit is late in the table and in the charts alike.
    late = {**facts, "settings": {**facts["settings"], "limit": 0.15}}
    text, charts = page.page_of("A title", made, late)
    assert charts["profile-all-classes.svg"]["gap 1e-03"]["a"] == [0.1, math.inf]
    assert "q (1.0e-04, late)" in text


@pytest.mark.quick
def test_the_distance_from_an_optimum(subtests: pytest.Subtests) -> None:
    for objective, optimum, sense, expected in (
        (2.2, 2.0, "minimize", 0.1),
        (1.8, 2.0, "maximize", 0.2 / 1.8),
        (-1.0, -3.0, "minimize", 2.0),
        (0.5, 0.0, "minimize", 0.5),
        (-12.0, -10.0, "maximize", 2.0 / 12.0),
        (1.0, 2.0, "minimize", 0.0),
        (math.inf, 2.0, "minimize", math.inf),
        (-math.inf, 2.0, "maximize", math.inf),
    ):
        with subtests.test(f"{sense} {objective}"):
            excess = scripts("benchmark").measured_solve.excess(objective, optimum, sense)
            assert excess == pytest.approx(expected)
