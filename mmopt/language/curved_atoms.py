"""The atoms of exponentials and of orthogonal factors."""

from __future__ import annotations

import math

import numpy as np

from mmopt.language import curved_balls, gradients, matrix_rules, numeric, rules
from mmopt.language.atom import Atom, Form
from mmopt.language.types import Curvature

__all__ = ["CURVED"]

CURVED = (
    Atom(
        name="exp",
        arity=1,
        unitless=True,
        rule=rules.elementwise(Curvature.CONVEX, increasing=True, sign=1),
        numpy=np.exp,
        about="Exponential, entry by entry.",
        latex=Form(r"\exp\left({0}\right)"),
        plain=Form("exp({0})"),
        text="exp({0})",
        ball=curved_balls.exp,
        cvxpy=lambda cp, a: cp.exp(a),
        gradient=gradients.exp,
        cones=lambda shape, outputs, exponent: (("exponential", 3, outputs, outputs),),
    ),
    Atom(
        name="log",
        arity=1,
        unitless=True,
        rule=rules.elementwise(Curvature.CONCAVE, increasing=True),
        numpy=np.log,
        about="Natural logarithm, entry by entry.",
        latex=Form(r"\log\left({0}\right)"),
        plain=Form("log({0})"),
        text="log({0})",
        ball=curved_balls.log,
        cvxpy=lambda cp, a: cp.log(a),
        gradient=gradients.log,
        cones=lambda shape, outputs, exponent: (("exponential", 3, outputs, outputs),),
    ),
    Atom(
        name="logsumexp",
        arity=1,
        unitless=True,
        rule=rules.soft_max,
        numpy=numeric.logsumexp,
        about="Logarithm of the sum of the exponentials of all entries, or along an axis: a soft maximum.",
        latex=Form(r"\operatorname{{logsumexp}}\left({0}\right)"),
        plain=Form("logsumexp({0})"),
        text="logsumexp({0})",
        ball=curved_balls.logsumexp,
        cvxpy=lambda cp, a, axis=None: cp.log_sum_exp(a, axis=axis),
        axis=True,
        gradient=gradients.logsumexp,
        cones=lambda shape, outputs, exponent: (
            ("exponential", 3, math.prod(shape), math.prod(shape)),
            ("nonnegative", 1, outputs, outputs),
        ),
    ),
    Atom(
        name="polar",
        arity=1,
        degrees=(0,),
        rule=matrix_rules.polar,
        numpy=numeric.polar,
        about="The orthogonal factor U Vᵀ of a square matrix U S Vᵀ, the orthogonal matrix nearest to it.",
        latex=Form(r"\operatorname{{polar}}\left({0}\right)"),
        plain=Form("polar({0})"),
        text="polar({0})",
        ball=curved_balls.polar,
        gradient=gradients.polar,
    ),
)
