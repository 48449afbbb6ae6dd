"""The table of atoms: every function and operator of the language, one row each.

A row says all there is to say of an atom: how many arguments, its rule (shape, sign, curvature), its
numpy form, its form with error bounds (``ball``; absent for atoms that only prepare data), its cvxpy
form (absent where the lowering treats the atom itself, or where it only prepares data), how it is
printed, and one sentence. Adding an atom is adding a row, here or (an operator) in ``operators.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from mmopt.language import balls, matrix_rules, numeric, rules
from mmopt.language.atom import Atom, Form
from mmopt.language.operators import OPERATORS
from mmopt.language.types import Curvature

__all__ = ["ATOMS", "FUNCTIONS", "Atom", "Form"]

CONVEX, CONCAVE = Curvature.CONVEX, Curvature.CONCAVE

_FUNCTIONS = (
    Atom(
        name="sum",
        arity=1,
        rule=rules.reduction(None),
        numpy=np.sum,
        about="Sum of all entries, or along an axis (axis=0: one per column).",
        latex=Form(r"\operatorname{{sum}}\left({0}\right)"),
        plain=Form("sum({0})"),
        text="sum({0})",
        ball=balls.total,
        cvxpy=lambda cp, a, axis=None: cp.sum(a, axis=axis),
        axis=True,
    ),
    Atom(
        name="max",
        arity=1,
        rule=rules.reduction(CONVEX),
        numpy=np.max,
        about="Largest entry, or largest along an axis.",
        latex=Form(r"\max\left({0}\right)"),
        plain=Form("max({0})"),
        text="max({0})",
        ball=balls.extreme(np.max),
        cvxpy=lambda cp, a, axis=None: cp.max(a, axis=axis),
        axis=True,
    ),
    Atom(
        name="min",
        arity=1,
        rule=rules.reduction(CONCAVE),
        numpy=np.min,
        about="Smallest entry, or smallest along an axis.",
        latex=Form(r"\min\left({0}\right)"),
        plain=Form("min({0})"),
        text="min({0})",
        ball=balls.extreme(np.min),
        cvxpy=lambda cp, a, axis=None: cp.min(a, axis=axis),
        axis=True,
    ),
    Atom(
        name="abs",
        arity=1,
        rule=rules.elementwise(CONVEX, increasing=None, sign=1, even=True),
        numpy=np.abs,
        about="Absolute value, entry by entry.",
        latex=Form(r"\left|{0}\right|"),
        plain=Form("|{0}|"),
        text="abs({0})",
        ball=balls.absolute,
        cvxpy=lambda cp, a: cp.abs(a),
    ),
    Atom(
        name="sqrt",
        arity=1,
        rule=rules.elementwise(CONCAVE, increasing=True, sign=1),
        numpy=np.sqrt,
        about="Square root, entry by entry.",
        latex=Form(r"\sqrt{{{0}}}"),
        plain=Form("√{0}", 8),
        text="sqrt({0})",
        ball=balls.sqrt,
        cvxpy=lambda cp, a: cp.sqrt(a),
    ),
    Atom(
        name="trace",
        arity=1,
        rule=matrix_rules.trace,
        numpy=np.trace,
        about="Sum of the diagonal.",
        latex=Form(r"\operatorname{{tr}}\left({0}\right)"),
        plain=Form("tr({0})"),
        text="trace({0})",
        ball=balls.trace,
        cvxpy=lambda cp, a: cp.trace(a),
    ),
    Atom(
        name="diag",
        arity=1,
        rule=matrix_rules.diag,
        numpy=numeric.diag,
        about="The diagonal of a matrix; a diagonal matrix of a vector.",
        latex=Form(r"\operatorname{{diag}}\left({0}\right)"),
        plain=Form("diag({0})"),
        text="diag({0})",
        ball=balls.diag,
        cvxpy=lambda cp, a: cp.diag(a),
    ),
    Atom(
        name="inv",
        arity=1,
        rule=matrix_rules.inv,
        numpy=numeric.inv,
        about="Matrix inverse; of a psd matrix, matrix convex and decreasing.",
        latex=Form("{0}^{{-1}}", 8),
        plain=Form("{0}⁻¹", 8),
        text="inv({0})",
        ball=lambda a: balls.sandwich(balls.exact(np.eye(len(a.mid))), a, balls.exact(np.eye(len(a.mid)))),
    ),
    Atom(
        name="nuclear",
        arity=1,
        rule=matrix_rules.nuclear,
        numpy=numeric.nuclear,
        about="Nuclear norm: the sum of the singular values.",
        latex=Form(r"\left\|{0}\right\|_*"),
        plain=Form("‖{0}‖∗"),
        text="nuclear({0})",
        ball=balls.nuclear,
        cvxpy=lambda cp, a: cp.normNuc(a),
    ),
    Atom(
        name="root",
        arity=1,
        rule=matrix_rules.root,
        numpy=numeric.root,
        about="Square root of a psd matrix; matrix concave and increasing.",
        latex=Form("{0}^{{1/2}}", 8),
        plain=Form("{0}^½", 8),
        text="root({0})",
        ball=balls.root,
    ),
    Atom(
        name="pinv",
        arity=1,
        rule=matrix_rules.pinv,
        numpy=np.linalg.pinv,
        about="Pseudo-inverse of a given matrix.",
        latex=Form("{0}^{{+}}", 8),
        plain=Form("{0}⁺", 8),
        text="pinv({0})",
    ),
    Atom(
        name="factor",
        arity=1,
        rule=matrix_rules.factor,
        numpy=numeric.factor,
        about="Any F with F.T @ F equal to the matrix, zero eigenvalues dropped.",
        latex=Form(r"\operatorname{{factor}}\left({0}\right)"),
        plain=Form("factor({0})"),
        text="factor({0})",
    ),
    Atom(
        name="rank",
        arity=1,
        rule=matrix_rules.rank,
        numpy=np.linalg.matrix_rank,
        about="Rank of a given matrix.",
        latex=Form(r"\operatorname{{rank}}\left({0}\right)"),
        plain=Form("rank({0})"),
        text="rank({0})",
    ),
    Atom(
        name="stack",
        arity=2,
        rule=matrix_rules.stack,
        numpy=numeric.stack,
        about="One matrix on the other, rows of zeros left out.",
        latex=Form(r"\begin{{bmatrix}}{0}\\{1}\end{{bmatrix}}"),
        plain=Form("[{0}; {1}]"),
        text="stack({0}, {1})",
    ),
    Atom(
        name="used_rows",
        arity=2,
        rule=matrix_rules.used_rows,
        numpy=numeric.used_rows,
        about="The rows of a matrix whose amount is positive: used_rows(Q, amount).",
        latex=Form(r"\operatorname{{used\,rows}}\left({0};\,{1}\right)"),
        plain=Form("used_rows({0}, {1})"),
        text="used_rows({0}, {1})",
    ),
    Atom(
        name="eye",
        arity=1,
        rule=matrix_rules.fixed("eye"),
        numpy=lambda n: np.eye(int(n)),
        about="Identity matrix of the size given.",
        latex=Form("I_{{{0}}}"),
        plain=Form("I({0})"),
        text="eye({0})",
        ball=lambda n: balls.exact(np.eye(int(n))),
        cvxpy=lambda cp, n: np.eye(int(n)),
        takes_dim=True,
    ),
    Atom(
        name="ones",
        arity=1,
        rule=matrix_rules.fixed("ones"),
        numpy=lambda n: np.ones(int(n)),
        about="Vector of ones of the length given.",
        latex=Form(r"\mathbf 1_{{{0}}}"),
        plain=Form("ones({0})"),
        text="ones({0})",
        ball=lambda n: balls.exact(np.ones(int(n))),
        cvxpy=lambda cp, n: np.ones(int(n)),
        takes_dim=True,
    ),
)

ATOMS: Mapping[str, Atom] = MappingProxyType({atom.name: atom for atom in (*OPERATORS, *_FUNCTIONS)})

# The names that can be called; the other atoms are written as operators.
FUNCTIONS = tuple(atom.name for atom in _FUNCTIONS)
