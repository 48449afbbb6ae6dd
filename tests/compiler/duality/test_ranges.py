"""Every feasible point up to the level lies in the ranges, those by cuts too."""

import numpy as np
import pytest
from compiler.derived_cases import BASES
from compiler.derived_points import N, Rng, case, derived, direction, judged

from mmopt.compiler.duality.lagrangian import inside
from mmopt.compiler.duality.level_cuts import ranges_by_cuts
from mmopt.driver.judge.derived_bound import reader

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


@pytest.mark.draws(2)
def test_ranges_hold_every_feasible_point(rng: Rng) -> None:
    """Up to the level, wherever a walk from an inner point comes."""
    text = str(rng.choice(np.array(BASES, dtype=object)))
    found = case(text, rng)
    assert found is not None
    instance, point = found.instance, dict(found.point)
    level = float(found.objective) + 3.0 * max(1.0, abs(float(found.objective)))
    ranges = reader(instance, point, level).ranges
    for _ in range(30):
        step = 10.0 ** rng.uniform(-3, 1)
        moved = {name: value + step * direction(value, rng) for name, value in point.items()}
        objective = judged(instance, moved)
        if objective is not None and objective <= level:
            point = moved
            for name, known in ranges.items():
                assert (known.low <= point[name]).all() and (point[name] <= known.high).all(), (text, name)


@pytest.mark.draws(2)
def test_cuts_hold_every_point_up_to_the_level(rng: Rng) -> None:
    text = next(text for text in BASES if "logsumexp(W @ y) + sum(y**2)" in text)
    found = case(text, rng)
    assert found is not None
    read = found.reader
    _, multipliers, _ = derived(read, 1e-7)
    proper = inside(read.nodes, multipliers)
    ranges = ranges_by_cuts(read.nodes, proper, ["y"], read.level, read.all_but)
    assert ranges is not None
    for _ in range(8):
        along = rng.normal(size=N)
        low, high = 0.0, 1e3  # the farthest point of the level set in this direction
        for _ in range(30):
            middle = (low + high) / 2
            objective = judged(found.instance, {"y": found.point["y"] + middle * along})
            low, high = (middle, high) if objective is not None and objective <= read.level else (low, middle)
        y = found.point["y"] + low * along
        assert (ranges["y"].low <= y).all() and (y <= ranges["y"].high).all()
