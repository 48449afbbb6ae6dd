"""What is read off the lines is below the Lagrangian, and tangent to it."""

import numpy as np
import pytest
from compiler.derived_cases import BASES
from compiler.derived_points import N, Rng, case, direction, lagrangian, random_multipliers
from flint import arb_mat
from judge import balls

from mmopt.compiler.duality.lagrangian import inside, read as read_lagrangian

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


@pytest.mark.quick
@pytest.mark.some(6)
@pytest.mark.parametrize("text", BASES, ids=[str(i) for i in range(len(BASES))])
def test_the_reading_is_tangent_to_the_lagrangian(text: str, rng: Rng) -> None:
    """Below it where it has a value, and equal to it where the tangents are taken, whatever multipliers."""
    found = case(text, rng)
    if found is None or "for i in n, j in n" in text:  # whose multipliers stand in another order
        return
    read = found.reader
    proper = inside(read.nodes, random_multipliers(read, rng))
    for name, y in proper.items():
        lines = found.instance.program.constraints
        is_matrix = any(c.name == name and c.relation.op in (">>", "<<") for c in lines)
        for part in y.reshape(-1, *y.shape[-2:]) if is_matrix else ():
            assert balls.is_positive_definite(arb_mat((part + 1e-12 * np.eye(len(part))).tolist()))
        assert is_matrix or (y >= 0).all()
    line = read_lagrangian(read.nodes, proper, {})
    for size in (0.0, 1e-3, 0.1):
        point = {name: value + size * abs(direction(value, rng)) for name, value in found.point.items()}
        for name, moved in point.items():  # a psd matrix stays one
            point[name] = moved + 9 * size * np.eye(N) if moved.shape == (N, N) else moved
        value = lagrangian(found, point, proper)
        if value is None:
            continue
        terms = [(r.mid * point[name], r.rad * np.abs(point[name])) for name, r in line.residuals.items()]
        below = float(line.constant.mid) + sum(float(t.sum()) for t, _ in terms)
        slack = float(line.constant.rad) + sum(float(r.sum()) for _, r in terms)
        slack += 1e-9 * (abs(below) + sum(float(np.abs(t).sum()) for t, _ in terms) + 1.0)
        assert below <= float(value) + slack, text
        assert size or below >= float(value) - slack - 1e-6 * (1.0 + abs(below)), text
