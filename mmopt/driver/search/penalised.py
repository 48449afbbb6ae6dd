"""What each round of a search for a rank solves: the program without its rank, and a penalty instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Lowered, Scaling, lower, scale
from mmopt.driver.judge.score import Array
from mmopt.errors import OptionError, TooLargeError
from mmopt.language import evaluate
from mmopt.language.atoms.types import Curvature, matrix
from mmopt.language.check.infer import infer
from mmopt.language.check.rank import rank_line
from mmopt.language.syntax.tree import Apply, Expr, Name
from mmopt.limits import uncounted
from mmopt.solvers import memory_limit

__all__ = ["Penalised", "penalised"]

DIRECTION = "?direction"
PARAMETER_BYTES = 4.0  # of cvxpy per fourth power of the direction's rows: 0.8 GB at 120


@dataclass(frozen=True)
class Penalised:
    """What every round solves, compiled once: only the direction D changes."""

    instance: Instance
    scaled: Instance
    scaling: Scaling
    lowered: Lowered
    direction: Any  # a cvxpy parameter
    z: Expr
    side: int
    rank: int

    def matrix(self, found: Mapping[str, Array]) -> Array:
        """Z in the scale in which it is solved: there it does not depend on the units of the queries."""
        env = {**self.scaled.env, **{n: v if v.ndim else float(v) for n, v in found.items()}}
        return np.asarray(evaluate(self.z, env), dtype=float)

    def projector(self, z: Array) -> Array:
        """On the eigenvectors of all but the ``rank`` largest eigenvalues."""
        _, vectors = np.linalg.eigh((z + z.T) / 2)
        small = vectors[:, : self.side - self.rank]
        return np.asarray(small @ small.T)

    def first(self, start: Mapping[str, Array] | None, seed: list[int]) -> Array:
        """The projector at a start, given in the program's own scale; else a random one of the same rank."""
        if start is not None:
            scale_of = self.scaling.variables
            return self.projector(self.matrix({n: np.asarray(v) / scale_of[n] for n, v in start.items()}))
        rng = np.random.default_rng(seed)
        small, _ = np.linalg.qr(rng.normal(size=(self.side, self.side - self.rank)))
        return np.asarray(small @ small.T)


def penalised(instance: Instance) -> Penalised:
    """Scale the program, put the penalty into its objective, compile it."""
    with uncounted():
        import cvxpy

    program = instance.program
    constraint = rank_line(program.constraints)
    left, right = constraint.relation.left, constraint.relation.right
    assert isinstance(left, Apply)
    (z,) = left.args
    side = infer(z, instance.checked.scope).dims[0]
    size, rank = side.value(instance.sizes()), float(evaluate(right, instance.env))
    if rank != int(rank) or not 0 <= rank <= size:
        message = f"'{constraint.name}': a matrix with {size} rows does not have rank {rank:g}"
        raise OptionError(message, where=program.source.locate(right.span))
    if (needed := PARAMETER_BYTES * size**4) > memory_limit():
        message = (
            f"the direction of '{program.name}' has {size} rows and would need about {needed / 2**30:,.0f} "
            f"GiB of memory to compile; the limit here is {memory_limit() / 2**30:.0f} GiB"
        )
        raise TooLargeError(message, hint="this is a program for about eight cells: take fewer")
    scaled, scaling = scale(instance)
    direction = cvxpy.Parameter((size, size), symmetric=True)
    penalty = Apply("sum", (Apply("mul", (z, Name(DIRECTION, z.span)), z.span),), z.span)
    sign = "add" if program.sense == "minimize" else "sub"
    changed = replace(program, objective=Apply(sign, (program.objective, penalty), z.span))
    known = matrix(side, side, symmetric=True, curvature=Curvature.CONSTANT)
    checked = replace(instance.checked, program=changed, types={**instance.checked.types, DIRECTION: known})
    bound = replace(scaled, checked=checked, env={**scaled.env, DIRECTION: direction})
    return Penalised(instance, scaled, scaling, lower(bound), direction, z, size, int(rank))
