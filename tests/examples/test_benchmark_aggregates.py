"""Figures of a benchmark against figures by hand."""

import math

import pytest

from tests.examples.scripts import scripts
from tests.report.chart_law import faults

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
            "suite": "a suite",
            "class": "LP",
            "ladder": None,
            "size": 3,
            "truth": None,
            "seconds_least": row["seconds"],
            "seconds_most": row["seconds"],
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
    assert "| a | - | misses 1e-06 on 1 of 2 LP |\n| b | - | - |" in text  # b does not take them all
    assert "| a | LP | 5e+02 | - | - | 1.5e+02 | 1.5e+02 | 1.5e+02 / 1.5e+02 / 1.5e+02 |" in text
    assert "| a | 1e-09 / 1e-09 |" in text and "- machine: cores 2" in text
    # What nobody bounds says nothing of a solver.
    unknown = [
        {**row, "instance": "r", "lower": None, "gap": gap, "objective": 2.0}
        for row, gap in zip(made[:2], (math.inf, None), strict=True)
    ]
    text, _ = page.page_of("A title", [*made, *unknown], facts)
    assert "**Left out: r.** Nothing bounds their optima" in text and "All classes: 2 instances" in text
    counts = {"of the suite": 60, "chosen": 5, "done": 2}
    text, _ = page.page_of("A title", made, {**facts, "instances": counts})
    assert "**Partial: interrupted after 2 of 5 instances chosen.**" in text
    # What is reached beyond the limit is late in the table and in the charts alike.
    late = {**facts, "settings": {**facts["settings"], "limit": 0.15}}
    text, charts = page.page_of("A title", made, late)
    assert charts["profile-all-classes.svg"]["gap 1e-03"]["a"] == [0.1, math.inf]
    assert "q (1.0e-04, late)" in text


def step(solver: str, size: int, gap: float, seconds: float) -> dict[str, object]:
    name = f"program-{size}"
    return {
        "solver": solver,
        "instance": name,
        "ladder": "a ladder",
        "size": size,
        "truth": None,
        "stop": "call made",
        "gap": gap,
        "seconds": seconds,
        "cpu": seconds,
    }


def test_a_ladder_is_climbed_as_far_as_the_gap_is_reached_in_time() -> None:
    made = [
        step("a", 8, 1e-7, 0.1),
        step("a", 16, 1e-7, 3.0),
        step("a", 32, 1e-7, 30.0),
        step("b", 8, 1e-4, 0.1),
        {**step("c", 8, 1e-7, 0.1), "stop": "does not apply"},
    ]
    found = scripts("benchmark").ladders.climbed(made, "cpu", 10.0)
    assert found == {"a ladder": {"a": {8: 0.1, 16: 3.0, 32: math.inf}, "b": {8: math.inf}}}
    assert faults(scripts("benchmark").ladders.ladder_figure({"a long name " * 9: found["a ladder"]})) == []
    heads, lines = scripts("benchmark").ladders.ladder_table(found["a ladder"])
    assert heads == ["solver", "8", "16", "32", "largest"]
    assert lines == [["a", "0.1", "3", "no", "16"], ["b", "no", "-", "-", "none"]]
    settings = {"limit": 10.0, "shift": 0.1, "clock": "cpu"}
    strengths = scripts("benchmark").strengths.strengths(made, found, settings)
    assert strengths == [["a", "a ladder up to 16", "-"], ["b", "-", "-"], ["c", "-", "-"]]


def test_what_a_solver_is_good_and_bad_at_follows_from_its_figures() -> None:
    common = {"class": "LP", "ladder": None, "truth": None, "stop": "call made"}
    errors = dict.fromkeys((f"err{i}" for i in range(1, 7)), 1e-9)
    plain = [
        {**row, **common, **errors, "err1": 0.1 if row["solver"] == "b" else 1e-9}
        for row in rows(
            ("a", "p", 1e-10, 0.1), ("a", "q", 1e-10, 0.2), ("b", "p", 1e-10, 9.0), ("b", "q", 1e-10, 8.0)
        )
    ]
    unsolved = {"class": "LP", "ladder": None, "truth": "infeasible", "stop": "no result", "gap": math.inf}
    claims = [
        {**unsolved, "solver": "a", "instance": "r", "claim": "infeasible", "is_proof": True, "reach": 1.0},
        {**unsolved, "solver": "b", "instance": "r", "claim": "solved", "word": "done", "is_proof": None},
    ]
    settings = {"limit": 10.0, "shift": 0.001, "clock": "seconds"}
    found = scripts("benchmark").strengths.strengths([*plain, *claims], {}, settings)
    # (9.001 * 8.001) ** (1 / 2) over (0.101 * 0.201) ** (1 / 2), each less the shift.
    one = "1 problems without a solution"
    assert found == [
        ["a", f"LP to 1e-09; quickest on 2 of 2 LP; proves 1 of {one}", "-"],
        [
            "b",
            "LP to 1e-09",
            f"60 times the least time on LP; proves 0 of {one}; wrong about 1 of them; own points far off "
            "before the repair on 2",
        ],
    ]


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
