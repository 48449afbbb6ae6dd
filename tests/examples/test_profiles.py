"""Performance profiles: what they count, by definition, and how the lines are told apart.

Guards examples/benchmark/profiles.py.
"""

import math

import numpy as np
import pytest

from mmopt.errors import OptionError
from tests.examples.scripts import script

profiles = script("benchmark/profiles.py")
performance_profile, profile_figure = profiles.performance_profile, profiles.profile_figure
SECONDS = {"quick": [1.0, 2.0, math.inf, 4.0], "sure": [3.0, 2.0, math.inf, 1.0]}


def test_a_profile_by_hand() -> None:
    found = performance_profile(SECONDS)
    assert found["quick"][0].tolist() == [1.0, 4.0] and found["quick"][1].tolist() == [0.5, 0.75]
    assert found["sure"][0].tolist() == [1.0, 3.0] and found["sure"][1].tolist() == [0.5, 0.75]


def test_each_share_is_the_one_of_its_definition(rng: np.random.Generator) -> None:
    table = np.where(rng.random((4, 9)) < 0.3, math.inf, rng.lognormal(size=(4, 9)))
    seconds = {f"s{i}": row.tolist() for i, row in enumerate(table)}
    least = table.min(axis=0)
    for (places, shares), row in zip(performance_profile(seconds).values(), table, strict=True):
        assert places[0] == 1.0 and (np.diff(places) > 0).all()
        for factor in (1.0, *rng.lognormal(sigma=2.0, size=5) + 1.0, 1e12):
            solved = np.mean((row < math.inf) & (row <= factor * least))
            assert shares[np.searchsorted(places, factor, side="right") - 1] == pytest.approx(solved)


def test_no_unit_of_time_changes_a_profile(rng: np.random.Generator) -> None:
    seconds = {name: rng.lognormal(size=7) for name in ("a", "b", "c")}
    doubled = {name: 1024.0 * times for name, times in seconds.items()}
    for one, two in zip(
        performance_profile(seconds).values(), performance_profile(doubled).values(), strict=True
    ):
        assert np.array_equal(one, two)


def test_what_is_no_table_of_times_is_refused(subtests: pytest.Subtests) -> None:
    needs = "a profile needs a time of every solver for every instance, not: "
    for seconds, message in (
        ({}, f"{needs}no solver"),
        ({"a": []}, f"{needs}a 0"),
        ({"a": [1.0], "b": []}, f"{needs}a 1, b 0"),
        ({"a": [1.0, 0.0]}, "a time is a positive number of seconds, but one of 'a' is 0.0"),
        ({"a": [1.0, math.nan]}, "a time is a positive number of seconds, but one of 'a' is nan"),
    ):
        with subtests.test(message):
            with pytest.raises(OptionError) as caught:
                performance_profile(seconds)
            assert caught.value.message == message
    with pytest.raises(OptionError, match=r"^a profile needs the times at one accuracy at least\b"):
        profile_figure({})


def test_lines_differ_without_colour_and_keep_their_look_from_panel_to_panel() -> None:
    names = [f"solver {i}" for i in range(9)]
    wide = {name: [1.0 + i, 2.0] for i, name in enumerate(names)}
    figure = profile_figure({"gap 1e-4": wide, "gap 1e-6": {names[3]: [1.0, math.inf]}}, "title")
    first, second = figure.axes
    lines = [line for line in first.lines if line.get_drawstyle() == "steps-post"]
    marks = [line for line in first.lines if line.get_linestyle() == "None"]
    looks = [(a.get_linestyle(), b.get_marker()) for a, b in zip(lines, marks, strict=True)]
    assert len(set(looks)) == len(lines) == 9
    assert [second.lines[0].get_color(), second.lines[1].get_marker()] == [
        lines[3].get_color(), marks[3].get_marker()
    ]  # fmt: skip
    placed = [x for mark in marks for x in mark.get_xdata()]
    assert len(set(placed)) == len(placed)
    assert second.get_title(loc="left") == "gap 1e-6: 2 instances"
    assert second.lines[0].get_ydata()[-1] == 0.5


def test_legend_and_panels_stand_apart_and_within_the_page() -> None:
    wide = {f"a solver of name {i}": [1.0 + i] for i in range(11)}
    figure = profile_figure({"gap 1e-4": wide, "gap 1e-6": wide})
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and figure.bbox.y0 <= box.y0
    assert all(box.y1 <= axes.get_tightbbox().y0 for axes in figure.axes)  # type: ignore[union-attr]
