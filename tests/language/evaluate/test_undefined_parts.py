"""An atom has to have a value in each entry, used or not: so bounds and solvers take it.

Guards constraint_misses.py.
"""

from typing import Any

import numpy as np
import pytest

from mmopt.language import ATOMS
from mmopt.language.atoms.expression_types import Curvature, column
from mmopt.language.evaluate.constraint_misses import undefined_in
from mmopt.language.evaluate.evaluate_and_differentiate import PARTIAL
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import Constraint, Name

CHOSEN = {"y"}


def constraint(text: str) -> Constraint:
    head = "program p\nclass closed form\nminimize\n    c\nstrategy\n    W norm 2\ngiven\n"
    names = "    W: matrix[m, n]\n    y: vector[n]\n    u: vector[n]\n    c: scalar\n"
    return Program.parse(f"{head}{names}require\n    {text}").requires[0]


LINES = [
    "{0}(y)[0] >= 1",
    "sum({0}(y)[i] for i in n if i <= 0) >= 1",
    "sum({0}(y)[i] for i in n if i > 99) >= 1",
    "{0}(y)[j] >= u[j] for j in n",
    "{0}(y)[j] + max({0}(u + y)) >= u[j] for j in m",
    "W[j, :] @ {0}(y) >= 0 * sum(y) for j in m",
    "trace(diag({0}(y)) @ diag({0}(y))) <= c",
    "diag(diag({0}(y)) @ diag(u)) <= c",
]


@pytest.mark.quick
def test_one_entry_out_of_the_domain_is_seen(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    env: dict[str, Any] = {"m": 2, "n": 4, "W": np.eye(2, 4), "u": np.ones(4), "c": 1.0}
    for atom in ("sqrt", "log", "entropy"):
        for text in LINES:
            with subtests.test(str((atom, text))):
                line = constraint(text.format(atom))
                y = rng.uniform(0.1, 1.0, size=4)
                assert undefined_in(line, {**env, "y": y}, CHOSEN) is None
                at = int(rng.integers(1, 4))
                y[at] = -rng.uniform(0.1, 1.0)
                found = undefined_in(line, {**env, "y": y}, CHOSEN)
                assert found is not None
                part, entry = found
                assert part.atom == atom and part.args == (Name("y", part.args[0].span),) and entry == (at,)
                # What is given may have such entries: nothing is derived from where it is not used.
                assert undefined_in(line, {**env, "y": y}, set()) is None


def test_all_atoms_that_take_any_number_and_have_no_value_at_some_are_looked_at() -> None:
    free = column("n", curvature=Curvature.AFFINE)
    values = np.array([-2.0, -0.5, 0.5, 2.0])
    of_one = [atom for atom in ATOMS.values() if atom.arity == 1 and atom.equivariance == "entrywise"]
    bent = [a for a in of_one if a.rule(free).curvature in (Curvature.CONVEX, Curvature.CONCAVE)]
    assert len(bent) >= 4
    with np.errstate(all="ignore"):
        for atom in bent:
            assert (atom.name in PARTIAL) == (not np.isfinite(atom.numpy(values)).all()), atom.name
