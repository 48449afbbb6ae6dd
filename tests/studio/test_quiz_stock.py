"""The answers of the twenty examples are true of the functions themselves, and no word gives them away.

Guards mmopt/studio/quiz.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt.language import Program, evaluate, to_source
from mmopt.language.atoms.expression_types import Curvature, Type
from mmopt.language.check.curvature_survey import Survey, TypedNode, survey

FILES = sorted((Path(mmopt.__file__).parent / "studio" / "quiz").iterdir())
pytestmark = pytest.mark.quick

# The inequalities at a midpoint that fail somewhere.
FAILS = {
    Curvature.CONSTANT: set(),
    Curvature.AFFINE: set(),
    Curvature.CONVEX: {"concave"},
    Curvature.CONCAVE: {"convex"},
    Curvature.UNKNOWN: {"convex", "concave"},
}
FEWEST, MOST = 48, 2000  # midpoints for each node; more than the fewest only until all has failed that should
ROUNDING = 1e-9  # of values, relative to the largest of those compared
ANSWERS = re.compile(
    r"constant|affine|linear|conve|conca|neither|curv(?!ature)|accept|refus|reject|allow|increas|decreas|monoton"
)
# What the examples have to show so many times: the lines, and what a rule says of a node.
SHOWN = {
    r"times a constant [≥≤] 0|minus turns|of unknown sign|may be negative|sum of a convex and a concave": 4,
    r"(in|de)creasing.*its argument is con": 3,
    r"in the order of psd matrices": 4,
}


@cache
def surveyed(file: Path) -> Survey:
    return survey(Program.parse(file.read_text(encoding="utf-8"), file.name))


def nodes_of(node: TypedNode) -> Iterator[TypedNode]:
    yield node
    for part in node.parts:
        yield from nodes_of(part)


def drawn(kind: Type, rng: np.random.Generator) -> Any:
    """A value of what is chosen, or of a parameter, as it is declared."""
    values = rng.normal(size=[dim.value({}) for dim in kind.dims])
    if kind.psd:
        return values @ values.T + 0.1 * np.eye(len(values))
    if kind.symmetric:
        return values + values.T
    return np.exp(values) if kind.sign > 0 else 2.0 * values


def fails(surplus: Any, size: float, as_whole: bool) -> set[str]:
    """The inequalities that fail at a midpoint; ``surplus`` is by how much the mean of the ends is above."""
    parts = np.linalg.eigvalsh(surplus) if as_whole else surplus
    return {
        word
        for word, low in (("convex", np.min(parts)), ("concave", np.min(-parts)))
        if low < -ROUNDING * size
    }


def test_there_are_twenty_small_programs_without_a_workload(subtests: pytest.Subtests) -> None:
    assert [file.name[:3] for file in FILES] == [f"{i:02d}-" for i in range(1, 21)]
    for file in FILES:
        with subtests.test(file.name):
            written = surveyed(file).checked.written
            assert file.name[3:] == written.name.replace("_", "-") + ".program"
            assert not written.givens
            assert len(surveyed(file).lines) <= 3
            for line in surveyed(file).lines:
                assert sum(1 for side in line.sides for _ in nodes_of(side)) <= 12


def test_titles_and_questions_do_not_give_the_answer_away(subtests: pytest.Subtests) -> None:
    titles = [surveyed(file).checked.written.title for file in FILES]
    assert all(titles) and len(set(titles)) == len(FILES)
    for file in FILES:
        with subtests.test(file.name):
            program = surveyed(file).checked.written
            assert not ANSWERS.search(f"{program.title} {program.about}".lower())
            assert "?" in program.about


def test_the_examples_show_what_they_are_for() -> None:
    lines = [line for file in FILES for line in surveyed(file).lines]
    refused = [line for line in lines if line.fault]
    assert len(refused) >= 6 and len(lines) - len(refused) >= 20
    # A student cannot count on a line of the other kind in each.
    assert {sum(1 for line in surveyed(file).lines if line.fault) for file in FILES} == {0, 1, 2}
    words = [f"{n.rule} {n.type.why}" for line in lines for side in line.sides for n in nodes_of(side)]
    for pattern, times in SHOWN.items():
        assert sum(1 for rule in words if re.search(pattern, rule)) >= times, pattern


def test_a_line_is_refused_where_a_side_bends_the_wrong_way(subtests: pytest.Subtests) -> None:
    for file in FILES:
        for line in surveyed(file).lines:
            with subtests.test(file.name, line=line.name):
                sides = zip([side.type.curvature for side in line.sides], line.wanted, strict=True)
                assert (line.fault is None) == all(c.is_affine or c.value == wanted for c, wanted in sides)


def test_each_node_has_the_curvature_that_points_and_midpoints_show(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for file in FILES:
        checked = surveyed(file).checked
        chosen = [d.name for d in checked.program.choose]
        names = [*chosen, *(p.name for p in checked.program.parameters)]
        sides = [side for line in surveyed(file).lines for side in line.sides]
        for expr, node in {n.expr: n for side in sides for n in nodes_of(side)}.items():
            with subtests.test(file.name, node=to_source(expr)):
                curvature = node.type.curvature
                as_whole = node.type.loewner or (node.type.is_broken and node.type.symmetric)
                seen: set[str] = set()
                count, moves = 0, False
                for _ in range(MOST):
                    one = {name: drawn(checked.types[name], rng) for name in names}
                    other = one | {name: drawn(checked.types[name], rng) for name in chosen}
                    middle = {name: (one[name] + other[name]) / 2 for name in names}
                    low, high, mid = (np.asarray(evaluate(expr, env)) for env in (one, other, middle))
                    if not all(np.isfinite(value).all() for value in (low, high, mid)):
                        continue  # outside the domain
                    count += 1
                    moves |= bool(np.any(low != high))
                    size = 1.0 + max(float(np.abs(value).max()) for value in (low, high))
                    seen |= fails((low + high) / 2 - mid, size, as_whole)
                    assert seen <= FAILS[curvature]
                    if count >= FEWEST and seen == FAILS[curvature]:
                        break
                assert count >= FEWEST
                assert seen == FAILS[curvature]
                assert moves == (curvature is not Curvature.CONSTANT)
