"""Lowering: an instance becomes a cvxpy problem, with handles on its variables and constraints."""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmopt.compiler.bind import Instance
from mmopt.compiler.lines_and_cones import Line, implied_psd, line, sides_of_blocks, trace_inverse
from mmopt.language import (
    ATOMS,
    Apply,
    Block,
    Curvature,
    Entries,
    EntryIndices,
    Expr,
    Index,
    Name,
    Number,
    Relation,
    Scope,
    chain,
    entry_indices,
    evaluate,
    infer,
    is_rank,
    positions,
    sparse_constant,
    symmetric,
    together,
    vector_on_diagonal,
)
from mmopt.limits import require_time, time_not_counted
from mmopt.numerics import Array, Ints, factor


@dataclass(frozen=True)
class Lowered:
    """A cvxpy problem and, by the program's names, its variables and constraints.

    ``rows`` has, for constraints whose rows were scaled, the factor of each row: a multiplier of the
    program is the solver's times this. ``corners`` has, for multipliers of diagonal blocks of psd
    constraints, the constraint and its rows (first, last + 1). ``places`` has, for lines of which only some
    entries were handed over, their places in the array of all, and its shape.
    """

    problem: Any
    variables: Mapping[str, Any]
    constraints: Mapping[str, list[Any]]
    rows: Mapping[str, Array]
    corners: Mapping[str, tuple[str, int, int]] = field(default_factory=dict)
    places: Mapping[str, tuple[Ints, tuple[int, ...]]] = field(default_factory=dict)


BALANCE = 100.0  # by which F is multiplied in the trace of an inverse of an expression
COMPARE = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


@dataclass
class _Lowering:
    """Expressions and lines of an instance as those of cvxpy, ``cp``.

    extra : the constraints that inverses and roots add. blocks : the variables that stand for these.
    rows, places : as in ``Lowered``.
    """

    cp: ModuleType
    instance: Instance
    variables: dict[str, Any]
    extra: list[Any] = field(default_factory=list)
    blocks: dict[Expr, Any] = field(default_factory=dict)
    rows: dict[str, Array] = field(default_factory=dict)
    places: dict[str, tuple[Ints, tuple[int, ...]]] = field(default_factory=dict)

    def expr(self, e: Expr, scope: Scope, env: Mapping[str, Any]) -> Any:
        """A cvxpy expression, or a numpy value when nothing chosen occurs."""
        require_time()
        if isinstance(e, Name) and e.id in self.variables:
            return self.variables[e.id]
        if (inferred := infer(e, scope)).is_constant:
            return inferred.rounded(evaluate(e, env))
        match e:
            case Index(base=base):
                value = self.expr(base, scope, env)
                return value[positions(e, value.shape, env)]
            case Block(rows=rows):
                block = self.cp.bmat([[self.entry(entry, scope, env) for entry in row] for row in rows])
                return block[:, 0] if infer(e, scope).is_vector else block
            case Entries():
                return self.placed(e, scope, env)
            case Apply(atom="sum", args=(Entries() as entries,)):
                return self.cp.sum(self.entries(entries, entry_indices(entries, env), scope, env))
            case Apply(atom="trace") if inverse := trace_inverse(e, scope):
                return self.trace_inverse(*inverse, scope, env)
            case Apply(atom="inv" | "root"):
                return self.bounded(e, scope, env)
            case Apply(atom="diag", args=(Apply(atom="matmul") as product,)) if not infer(
                product, scope
            ).is_vector:
                return self.diagonal(product, scope, env)
            case Apply(atom="matmul", args=factors):
                return self.product([*factors], scope, env)
            case Apply(atom="diag", args=(vector,)) if infer(vector, scope).is_vector:
                return self.cp.diag(self.on_diagonal(vector, scope, env))
        assert isinstance(e, Apply)
        form = ATOMS[e.atom].cvxpy
        assert form is not None, e.atom  # an atom of data alone, whose value is constant
        args = [
            self.cp.Constant(value) if isinstance(value, int | float | np.ndarray) else value
            for value in (self.expr(a, scope, env) for a in e.args)
        ]
        # Signs that cvxpy does not see, as of lambda_max of a psd matrix, decide on squares.
        args = [
            self.cp.pos(value)
            if not value.is_affine()
            and value.is_convex()
            and not value.is_nonneg()
            and infer(a, scope).sign > 0
            else value
            for a, value in zip(e.args, args, strict=True)
        ]
        return form(self.cp, *args, **dict(e.options))

    def entries(self, e: Entries, at: EntryIndices, scope: Scope, env: Mapping[str, Any]) -> Any:
        """The numbers at all points, as a vector."""
        inner = scope.among(e)
        if (whole := together(e.body, frozenset(at.indices))) is not None:
            return self.expr(whole, inner, {**env, **at.indices}) + np.zeros(len(at.places))
        return self.cp.hstack([self.expr(e.body, inner, {**env, **one}) for one in at.envs])

    def placed(self, e: Entries, scope: Scope, env: Mapping[str, Any]) -> Any:
        """The entries in their places in an array of zeros."""
        at = entry_indices(e, env)
        vector = self.entries(e, at, scope, env)
        size, count = math.prod(at.shape), len(at.places)
        if count < size:
            vector = sp.csr_array((np.ones(count), (at.places, range(count))), (size, count)) @ vector
        return self.cp.reshape(vector, at.shape, order="C")

    def product(self, factors: list[Expr], scope: Scope, env: Mapping[str, Any]) -> Any:
        """The product, from left to right; one with a diagonal matrix scales columns or rows."""
        vectors = [vector_on_diagonal(f, scope) if len(factors) > 1 else None for f in factors]
        values = [
            self.expr(f, scope, env) if v is None else self.on_diagonal(v, scope, env)
            for v, f in zip(vectors, factors, strict=True)
        ]
        product, is_scale = values[0], vectors[0] is not None
        for value, vector in zip(values[1:], vectors[1:], strict=True):
            if is_scale:
                product = self.scaled(value.T, product).T
            else:
                product = self.times(product, value) if vector is None else self.scaled(product, value)
            is_scale = is_scale and vector is not None
        if is_scale:
            return np.diag(product) if isinstance(product, np.ndarray) else self.cp.diag(product)
        return product

    def times(self, left: Any, right: Any) -> Any:
        """The matrix product, of numbers where both are."""
        if all(isinstance(value, np.ndarray) for value in (left, right)):
            return left @ right
        return sparse_constant(self.cp, left) @ sparse_constant(self.cp, right)

    def scaled(self, matrix: Any, by: Any) -> Any:
        """The columns of a matrix times the entries of a vector; of a vector its entries."""
        if all(isinstance(value, np.ndarray) for value in (matrix, by)):
            return matrix * by
        if matrix.ndim == 2:  # not left to cvxpy's broadcasting, which its faster compiler does not know
            by = np.ones((matrix.shape[0], 1)) @ self.cp.reshape(by, (1, by.size), order="C")
        return self.cp.multiply(matrix, by)

    def diagonal(self, e: Apply, scope: Scope, env: Mapping[str, Any]) -> Any:
        """``diag(A @ F @ B)`` without forming the product: the row sums of (A @ F) * B.T."""
        factors = chain(e)
        left = self.product(factors[:-1], scope, env)
        return self.cp.sum(self.cp.multiply(left, self.expr(factors[-1], scope, env).T), axis=1)

    def entry(self, e: Expr, scope: Scope, env: Mapping[str, Any]) -> Any:
        """An entry of a block matrix, as a matrix."""
        shape = tuple(d.value(self.instance.sizes()) for d in infer(e, scope).block_shape)
        value = self.expr(e, scope, env)
        is_constant = isinstance(value, int | float | np.ndarray)
        return np.reshape(value, shape) if is_constant else self.cp.reshape(value, shape, order="C")

    def trace_inverse(
        self, inner: Expr, left: list[Expr], right: list[Expr], scope: Scope, env: Mapping[str, Any]
    ) -> Any:
        """``trace(L @ inv(F) @ R)``, F ``inner``, L ``left``, R ``right``, as a block and the trace of T.

        It is tr(P inv(F)) with P = R L = M Mᵀ, and the block [[F, M], [Mᵀ, T]] is psd.
        """
        # The check knows that F is symmetric; cvxpy would add an equality for each pair of entries.
        f = symmetric(self.cp, self.expr(inner, scope, env))
        side = infer(inner, scope).dims[0].value(self.instance.sizes())
        before, after = (self.product(k, scope, env) if k else np.eye(side) for k in (left, right))
        m = after if np.array_equal(after, before.T) else factor(after @ before).T
        # If M has more columns than rows, a square root of M Mᵀ will do.
        if m.shape[1] > m.shape[0]:
            m = np.asarray(np.linalg.qr(m.T, mode="r")).T
        # Of small weights the inverse is large; balanced, solvers get further.
        by = 1.0 if isinstance(inner, Name) else BALANCE
        return self.cp.matrix_frac(m, by * f) * by

    def bounded(self, e: Apply, scope: Scope, env: Mapping[str, Any]) -> Any:
        """One Y for all places of the expression: Y >= inv(F) in the Loewner order, or Y <= root(F).

        The latter from Y Y <= F, since the root is monotone.
        """
        if e in self.blocks:
            return self.blocks[e]
        f = self.expr(e.args[0], scope, env)
        side = infer(e, scope).dims[0].value(self.instance.sizes())
        variable, i = self.cp.Variable((side, side), symmetric=True), np.eye(side)
        block = [[variable, i], [i, f]] if e.atom == "inv" else [[f, variable], [variable, i]]
        self.extra.append(self.cp.bmat(block) >> 0)
        return self.blocks.setdefault(e, variable)

    def on_diagonal(self, vector: Expr, scope: Scope, env: Mapping[str, Any]) -> Any:
        """A vector, or limits in place of a curved one, as cvxpy orders only affine matrices."""
        value, bends = self.expr(vector, scope, env), infer(vector, scope).curvature
        if bends.is_affine:
            return value
        variable = self.cp.Variable(value.shape)
        self.extra.append(variable >= value if bends is Curvature.CONVEX else variable <= value)
        return variable

    def line(self, decided: Line) -> list[Any]:
        """The cvxpy constraints of one constraint of the program; none where nothing chosen occurs.

        Such a line holds or does not whatever a solver does: each point is scored by it all the same.
        """
        family, env, scope = decided.constraint.family, self.instance.env, decided.scope
        if all(infer(e, scope).is_constant for e in (decided.relation.left, decided.relation.right)):
            return []
        left, right = decided.relation.left, decided.relation.right
        if isinstance(left, Entries) and isinstance(right, Entries):
            return self.by_entry(decided, left, right)
        if not decided.loop:
            if decided.pair:
                size = family.dim.value(self.instance.sizes()) if family else 1
                return [self.second_order(decided.pair, scope, size, env)]
            return [self.scaled_rows(decided, scope)]
        assert family is not None
        each = [{**env, family.index: i} for i in range(family.dim.value(self.instance.sizes()))]
        if decided.pair:
            return [self.second_order(decided.pair, scope, 1, indexed) for indexed in each]
        return [self.relation(decided.relation, scope, indexed) for indexed in each]

    def by_entry(self, decided: Line, left: Entries, right: Entries) -> list[Any]:
        """A line for two indices, or with a condition: one constraint of all selected entries."""
        at = entry_indices(left, self.instance.env)
        if not len(at.places):
            return []
        self.places[decided.constraint.name] = at.places, at.shape
        sides = (self.entries(side, at, decided.scope, self.instance.env) for side in (left, right))
        return [self.compared(decided.relation.op, *sides)]

    def second_order(
        self, pair: tuple[Expr, Expr, Expr], scope: Scope, size: int, env: Mapping[str, Any]
    ) -> Any:
        """[[a, b], [b, c]] psd is ‖(2b, a - c)‖ <= a + c; so many of them."""
        a, b, c = (self.expr(e, scope, env) for e in pair)
        wide = [self.cp.reshape(e + np.zeros(size), (size,), order="C") for e in (a + c, 2 * b, a - c)]
        return self.cp.SOC(wide[0], self.cp.vstack(wide[1:]), axis=0)

    def scaled_rows(self, decided: Line, scope: Scope) -> Any:
        """``left <= c`` with a vector c > 0 as ``left / c <= 1``: exact, and targets may differ widely."""
        r, env = decided.relation, self.instance.env
        if r.op != "<=" or not infer(r.right, scope).is_constant or not infer(r.left, scope).is_vector:
            return self.relation(r, scope, env)
        limits = np.asarray(self.expr(r.right, scope, env), dtype=float)
        if limits.ndim == 0 or not (limits > 0).all():
            return self.relation(r, scope, env)
        self.rows[decided.constraint.name] = 1.0 / limits
        return self.cp.multiply(1.0 / limits, self.expr(r.left, scope, env)) <= 1.0

    def relation(self, r: Relation, scope: Scope, env: Mapping[str, Any]) -> Any:
        """A relation as a constraint, with the same duals."""
        left, right = self.expr(r.left, scope, env), self.expr(r.right, scope, env)
        if r.op in (">>", "<<"):
            large, small, zero = (left, right, r.right) if r.op == ">>" else (right, left, r.left)
            return (large if isinstance(zero, Number) else large - small) >> 0
        return self.compared(r.op, left, right)

    def compared(self, op: str, left: Any, right: Any) -> Any:
        """The sides compared in their order; with a number on the left Python would compare them reversed."""
        is_number = isinstance(left, int | float | np.ndarray | np.generic)
        return COMPARE[op](self.cp.Constant(left) if is_number else left, right)


def lower(instance: Instance) -> Lowered:
    """Build the cvxpy problem of a (scaled) instance. Imports cvxpy, which takes a second or two."""
    with time_not_counted("cvxpy"):
        import cvxpy

    program, sizes = instance.program, instance.sizes()
    implied = implied_psd(instance.checked)
    variables = {
        d.name: cvxpy.Variable(
            d.shape(sizes), name=d.name, symmetric=d.kind in ("psd", "symmetric"), nonneg=bool(d.sign)
        )
        for d in program.choose
    }
    psd = [variables[d.name] >> 0 for d in program.choose if d.kind == "psd" and d.name not in implied]
    lowering = _Lowering(cvxpy, instance, variables)
    objective = lowering.expr(program.objective, instance.checked.lines, instance.env)
    lines = [line(instance.checked, c) for c in program.constraints if not is_rank(c)]
    constraints = {decided.constraint.name: lowering.line(decided) for decided in lines}
    sense = cvxpy.Minimize if program.sense == "minimize" else cvxpy.Maximize
    everything = [*psd, *lowering.extra, *(c for group in constraints.values() for c in group)]
    return Lowered(
        cvxpy.Problem(sense(objective), everything),
        variables,
        constraints,
        lowering.rows,
        _corners(instance),
        lowering.places,
    )


def _corners(instance: Instance) -> dict[str, tuple[str, int, int]]:
    """The places of the diagonal blocks whose duals start the certificate."""
    blocks = {c.name: c for c in instance.program.constraints}
    out: dict[str, tuple[str, int, int]] = {}
    for m in instance.program.multipliers:
        if m.block is None:
            continue
        sides = sides_of_blocks(instance.checked, instance.sizes(), blocks[m.dual_of])[: m.block + 1]
        out[m.key] = m.dual_of, sum(sides[:-1]), sum(sides)
    return out
