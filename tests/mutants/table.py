"""Small wrong edits of lines that a guarantee rests on, each with the tests that have to notice it.

A row: the file, the function (in a program file the section), the text that stands there exactly once, what is
put in its place, and the tests that kill it (below ``tests/``). ``run.py`` applies them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MUTANTS", "Mutant"]


@dataclass(frozen=True)
class Mutant:
    file: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"{self.file} {self.function} {self.old} {self.new}"

    def __str__(self) -> str:
        return f"{self.file} ({self.function}): {self.old!r} -> {self.new!r}"


def _rows(file: str, tests: str, *edits: tuple[str, str, str]) -> tuple[Mutant, ...]:
    """Rows of one file that the same tests kill: function, old text, new text."""
    return tuple(Mutant(file, function, old, new, tuple(tests.split())) for function, old, new in edits)


def _law(name: str, law: str) -> str:
    return f"language/test_atom_law.py::test_law[{name}-{law}]"


MUTANTS = (
    # -- directed rounding
    *_rows(
        "mmopt/queries/directed.py",
        "queries/test_directed.py",
        ("plus_up", "np.where(error > 0, ", "np.where(error < 0, "),
        ("times_up", "np.where(certain, error <= 0,", "np.where(certain, error >= 0,"),
        ("root_up", "np.where(certain, short >= 0, a == 0)", "np.where(certain, short <= 0, a == 0)"),
        ("_lost", "+ a_low * b_low)", "- a_low * b_low)"),
        ("times_up", "(product > _TINY)", "(product >= 0)"),
    ),
    *_rows(
        "mmopt/queries/outward.py",
        "queries/test_outward.py",
        ("not_below", "(1.0 + 2.0 * terms * _EPS)", "(1.0 - 2.0 * terms * _EPS)"),
        ("_upward", "np.where(whole, roots, np.nextafter(roots, np.inf))", "roots"),
        ("_not_below", "< 2.0**53", "< 2.0**60"),
        ("_difference_by_gram", "error = 8.0 *", "error = 0.0 *"),
        ("largest_difference", "rows[start + 1 :], metric", "rows[start + 2 :], metric"),
        ("largest_difference", 'metric = "cityblock"', 'metric = "chebyshev"'),
        ("column_powers", "np.square(scaled)", "np.abs(scaled)"),
    ),
    # -- integers
    *_rows(
        "mmopt/mechanism/exact.py",
        "mechanism/test_exact.py",
        ("integer_product", "bound < 2**53", "bound < 2**58"),
        ("integer_product", "if bound < _LIMIT:", "if bound < 4 * _LIMIT:"),
        ("largest_entry", "abs(int(matrix.min()))", "int(matrix.min())"),
        ("largest_squared_difference", "- 2 * inner)", "- inner)"),
        ("largest_absolute_difference", '"cityblock"', '"chebyshev"'),
        ("_small_product", "(middle << _LIMB)", "(middle << (_LIMB - 1))"),
        ("largest_absolute_sum", "largest_row_sum(matrix.T)", "largest_row_sum(matrix)"),
    ),
    *_rows(
        "mmopt/mechanism/exact.py",
        "mechanism/test_margins.py",
        ("root_above", "math.isqrt(squared << 128) + 1", "math.isqrt(squared << 128)"),
    ),
    # -- calibration
    *_rows(
        "mmopt/mechanism/privacy.py",
        "mechanism/test_margins.py mechanism/test_privacy.py",
        ("float_above", "Fraction(nearest) >= value", "Fraction(nearest) <= value"),
        ("gaussian_rho", "(2 * Fraction(scale) ** 2)", "(4 * Fraction(scale) ** 2)"),
        ("laplace_epsilon", "Fraction(scale) * (1 + _OPENDP_SLACK)", "Fraction(scale)"),
        ("gaussian_rho", "exact * (1 + _OPENDP_SLACK)", "exact"),
        ("_tail", "(order / a).ln() - (a.ln()", "(order / a).ln() + (a.ln()"),
        ("zcdp_rho", "rho > 0 and zcdp_epsilon(rho, delta) > epsilon:", "rho > 0 and zcdp_epsilon(rho, delta) > 2 * epsilon:"),
    ),
    *_rows(
        "mmopt/mechanism/calibration.py",
        "mechanism/test_planning.py mechanism/test_rounding_factored.py",
        ("cost_of_part", "gaussian_rho(part.squared_sensitivity, own)", "gaussian_rho(part.squared_sensitivity, 2 * own)"),
        ("least_scale", "while cost(integer, scale) > allowed:", "while cost(integer, scale) > 2 * allowed:"),
        ("cost", "float_above(sum(", "float_above(max("),
    ),
    *_rows(
        "mmopt/mechanism/reconstruct.py",
        "mechanism/test_release.py mechanism/test_planning.py",
        ("half_width", "(1 + confidence) / 2", "confidence"),
        ("_laplace_tail", "math.exp(-1.5)", "math.exp(-2.5)"),
        ("deviations", "np.sqrt([laplace_variance(own) for own in scales])", "np.array(scales)"),
    ),
    *_rows(
        "mmopt/mechanism/rounding.py",
        "mechanism/test_rounding.py",
        ("round_strategy", "largest_squared_norm(matrix) if", "largest_squared_norm(core) if"),
        ("round_strategy", "np.ldexp(reconstruction.squared_lengths(), 2 * bits)", "np.ldexp(reconstruction.squared_lengths(), bits)"),
    ),
    *_rows(
        "mmopt/mechanism/rounding.py",
        "mechanism/test_planning.py",
        ("standard_errors", "np.ldexp(float(deviations[0]), -self.bits)", "np.ldexp(float(deviations[0]), -self.bits - 1)"),
    ),
    *_rows(
        "mmopt/mechanism/core.py",
        "mechanism/test_rounding.py",
        ("check_loss", "np.max(rounded / unrounded)", "np.min(rounded / unrounded)"),
    ),
    # -- error bounds
    *_rows(
        "mmopt/language/balls.py",
        " ".join(_law(name, "balls") for name in ("add", "sum", "mul")) + " language/test_balls.py",
        ("", "U = float(np.finfo(float).eps) / 2", "U = float(np.finfo(float).eps) / 64"),
        ("gamma", "return k * U / (1.0 - k * U)", "return 0.0"),
        ("rounded", "out *= U", "out *= 0.0"),
        ("_mul", "a.rad * (np.abs(b.mid) + b.rad)", "a.rad * np.abs(b.mid)"),
        ("div", "(a.rad + np.abs(mid) * b.rad) / safe", "a.rad / safe"),
        ("div", "low = np.abs(b.mid) - b.rad", "low = np.abs(b.mid)"),
        ("sqrt", "np.maximum(ends[1] - mid, mid - ends[0])", "np.minimum(ends[1] - mid, mid - ends[0])"),
        ("matmul", "rad += one @ b.rad[here]", "rad += 0.5 * one @ b.rad[here]"),
        ("total", "np.sum(a.rad, axis=axis) +", "np.max(a.rad, axis=axis) +"),
        ("extreme", "np.max(a.rad, axis=axis)", "np.min(a.rad, axis=axis)"),
        ("dots", "np.einsum(sums, np.abs(a.mid), b.rad)", "0.5 * np.einsum(sums, np.abs(a.mid), b.rad)"),
        ("scaled", "(a.rad + 4 * U * np.abs(a.mid)) * sizes", "a.rad * sizes"),
        ("upper", "np.nextafter(self.mid + self.rad, np.inf)", "self.mid"),
        ("power", "out = a if out.mid.size and not out.rad.any()", "out = a if out.mid.size and out.rad.any()"),
        ("product_radii", "gamma(a.shape[1]) *", "gamma(1) * 0.01 *"),
    ),
    *_rows(
        "mmopt/language/curved_balls.py",
        "language/test_curved_balls.py",
        ("exp", "np.maximum(high - mid, mid - low) + POWER * (mid + high)", "POWER * (mid + high)"),
        ("log", "known = _ends(a)[0] > 0", "known = a.mid > 0"),
        ("logsumexp", "balls.sub(a, exact(top))", "exact(a.mid - top)"),
        ("polar", "moved = skew + 2.0 * away", "moved = 1e-3 * away"),
    ),
    *_rows(
        "mmopt/language/inverse_balls.py",
        "language/test_wide_inverses.py language/test_inverse_balls.py",
        ("sandwich", "_lengths(missing)) / inverse.least)", "_lengths(missing)) * 1e-9)"),
        ("_diagonal", "_lengths(behind) * _lengths(missing) / inverse.least", "_lengths(behind) * 0.0"),
        ("smallest_singular", "return (1.0 - off) /", "return (1.0 + 9 * off) /"),
    ),
    *_rows(
        "mmopt/language/spectral_balls.py",
        "language/test_spectral_balls.py",
        ("_least", "return s - slip - float(", "return s + slip + float("),
        ("root", "min(bounds)", "0.0"),
        ("smallest_eigenvalue", "(guess - size, guess / 2, 0.0)", "(guess + size, guess / 2, 0.0)"),
    ),
    *_rows(
        "mmopt/language/residual.py",
        "language/test_residual.py",
        ("_bits", "(51 -", "(60 -"),
        ("_residual", "np.abs(rest))) + 2 * (terms + 4) * U * sizes", "np.abs(rest)))"),
        ("_residual", "low = low + ((high - (total - moved))", "low = low - ((high - (total - moved))"),
        ("plain_residual", "2 * (x.shape[1] + 4) * U * sizes", "0.0 * sizes"),
    ),
    *_rows(
        "mmopt/language/nuclear_ball.py",
        "language/test_nuclear_ball.py",
        ("_above", "return total / float(np.sqrt(1.0 - off))", "return total * float(np.sqrt(1.0 - off))"),
        ("_above", "+ float(np.sqrt(len(mid))) * _norm(rad)", ""),
        ("_below", "/ float(np.sqrt(1.0 + off + slip))", ""),
        ("_below", "float(inner.sum()) - change - lost", "float(inner.sum()) - change"),
    ),
    # -- curvature
    Mutant("mmopt/language/functions.py", "sqrt", "rules.elementwise(CONCAVE, increasing=True, sign=1)", "rules.elementwise(CONVEX, increasing=True, sign=1)", (_law("sqrt", "curvature"),)),
    Mutant("mmopt/language/functions.py", "min", "rule=rules.reduction(CONCAVE)", "rule=rules.reduction(CONVEX)", (_law("min", "curvature"),)),
    Mutant("mmopt/language/functions.py", "log", "rules.elementwise(CONCAVE, increasing=True)", "rules.elementwise(CONVEX, increasing=True)", (_law("log", "curvature"),)),
    Mutant("mmopt/language/functions.py", "logsumexp", '("nonnegative", 1, outputs, outputs)', '("nonnegative", 1, outputs, 0)', (_law("logsumexp", "lowering"),)),
    Mutant("mmopt/language/functions.py", "nuclear", "cvxpy=lambda cp, a: cp.normNuc(a)", 'cvxpy=lambda cp, a: cp.norm(a, "fro")', (_law("nuclear", "lowering"),)),
    Mutant("mmopt/language/functions.py", "root", "ball=spectral_balls.root,", "ball=lambda a: balls.exact(numeric.root(a.mid)),", (_law("root", "balls"),)),
    Mutant("mmopt/language/matrix_rules.py", "inv", "replace(out, curvature=Curvature.CONVEX, loewner=True)", "replace(out, curvature=Curvature.CONCAVE, loewner=True)", (_law("inv", "curvature"),)),
    Mutant("mmopt/language/matrix_rules.py", "inv", "if a.psd and a.curvature.is_concave and", "if a.psd and a.curvature.is_convex and", (_law("inv", "curvature"),)),
    Mutant("mmopt/language/matrix_rules.py", "root", "if a.curvature.is_concave and (", "if a.curvature.is_convex and (", (_law("root", "curvature"),)),
    Mutant("mmopt/language/matrix_rules.py", "trace", "return replace(SCALAR, sign=1 if a.psd else a.sign", "return replace(SCALAR, sign=1 if a.symmetric else a.sign", (_law("trace", "value"),)),
    Mutant("mmopt/language/rules.py", "neg", "curvature=-a.curvature, psd=False", "curvature=a.curvature, psd=False", (_law("neg", "curvature"),)),
    Mutant("mmopt/language/rules.py", "neg", "sign=-a.sign, curvature", "sign=a.sign, curvature", (_law("neg", "value"),)),
    Mutant("mmopt/language/rules.py", "_sum_curvature", "if len({t.curvature for t in curved}) > 1:", "if len({t.curvature for t in curved}) > 2:", (_law("add", "curvature"),)),
    Mutant("mmopt/language/rules.py", "_scaled", "bent = curved.curvature if factor.sign > 0", "bent = curved.curvature if factor.sign < 0", (_law("mul", "curvature"),)),
    Mutant("mmopt/language/rules.py", "_scaled", "if factor.sign == 0:", "if factor.sign == 2:", (_law("mul", "curvature"),)),
    Mutant("mmopt/language/rules.py", "div", "b.loewner or b.sign <= 0:", "b.loewner:", (_law("div", "curvature"),)),
    Mutant("mmopt/language/rules.py", "power", "if exponent < 0 and a.curvature.is_concave:", "if exponent < 0 and a.curvature.is_convex:", (_law("pow", "curvature"),)),
    Mutant("mmopt/language/rules.py", "power", "sign = 1 if exponent % 2 == 0 or a.sign > 0 else 0", "sign = 1", (_law("pow", "value"),)),
    Mutant("mmopt/language/rules.py", "elementwise", "True if even and a.sign > 0 else None", "True if even else None", (_law("abs", "curvature"),)),
    Mutant("mmopt/language/rules.py", "soft_max", "sign=max(out.sign, 0)", "sign=out.sign", (_law("logsumexp", "value"),)),
    Mutant("mmopt/language/rules.py", "matmul", "if curved.loewner or curved.curvature is Curvature.UNKNOWN:", "if curved.curvature is Curvature.UNKNOWN:", (_law("matmul", "curvature"),)),
    *_rows(
        "mmopt/language/infer.py",
        "language/test_infer.py",
        ("_trace", "if not is_gram(factors[at + 1 :] + factors[:at], scope):", "if False:"),
        ("_congruence", "if at * 2 + 1 != len(factors) or not curved.loewner:", "if at * 2 + 1 != len(factors):"),
        ("_index", "if base.loewner:", "if False:"),
        ("is_gram", "if odd and not infer(factors[half], scope).psd:", "if False:"),
        ("_index", "if base.psd and expr.items[0] == expr.items[-1]", "if base.psd"),
        ("_block", "not t.curvature.is_affine), None)", "t.why), None)"),
    ),
    # -- derivatives
    Mutant("mmopt/language/gradients.py", "inv", "(-value.T @ bar @ value.T,)", "(value.T @ bar @ value.T,)", (_law("inv", "gradients"),)),
    Mutant("mmopt/language/gradients.py", "div", "_fit(-bar * value / b, b)", "_fit(bar * value / b, b)", (_law("div", "gradients"),)),
    Mutant("mmopt/language/gradients.py", "polar", "(inside - inside.T)", "(inside + inside.T)", (_law("polar", "gradients"),)),
    Mutant("mmopt/language/gradients.py", "rounded_extreme", "return sign * rounding * log_sum_exp", "return rounding * log_sum_exp", (_law("min", "gradients"),)),
    Mutant("mmopt/language/gradients.py", "root", "sums = np.add.outer(roots, roots)", "sums = np.add.outer(values, values)", (_law("root", "gradients"),)),
    # -- cones and lowering
    *_rows(
        "mmopt/compiler/lower.py",
        "compiler/test_lower.py",
        ("second_order", "(a + c, 2 * b, a - c)", "(a + c, b, a - c)"),
        ("hypograph", "[[f, s], [s, i]]", "[[f, s], [s, f]]"),
        ("scaled_rows", "self.expr(r.left, scope, env)) <= 1.0", "self.expr(r.left, scope, env)) <= 2.0"),
        ("scaled_rows", "self.rows[decided.constraint.name] = 1.0 / limits", "self.rows[decided.constraint.name] = limits"),
        ("trace_inverse", "m = r if is_gram else factor(r @ lt).T", "m = r"),
        ("relation", "return (right if isinstance(r.left, Number) else right - left) >> 0", "return (right if isinstance(r.left, Number) else left - right) >> 0"),
        ("_corners", "end - sides[-1], end", "0, end"),
        ("lower", 'if d.kind == "psd" and d.name not in implied:', 'if d.kind == "psd" and d.name in implied:'),
    ),
    *_rows(
        "mmopt/language/powers.py",
        "compiler/test_atom_cones.py",
        ("cones", '("second-order", 3, means * outputs, means * outputs)', '("second-order", 3, outputs, outputs)'),
    ),
    *_rows(
        "mmopt/compiler/scale.py",
        "compiler/test_scale.py",
        ("_scaling", "objective / units.factor(degree, scales)", "units.factor(degree, scales) / objective"),
        ("scale", "env[name] / units.factor(degree, scales)", "env[name] * units.factor(degree, scales)"),
    ),
    # -- reductions and their lifts
    *_rows(
        "mmopt/compiler/reductions/merge_cells.py",
        "compiler/reductions/test_two_ways.py pipeline/test_reduced.py",
        ("lift", "sizes**-axis.degree", "sizes**axis.degree"),
        ("_by_attribute", "touched &= own >= 0", "touched |= own >= 0"),
    ),
    *_rows(
        "mmopt/compiler/reductions/parallel_queries.py",
        "compiler/reductions/test_two_ways.py pipeline/test_reduced.py",
        ("_added_up", "weights=workload.weights * lead**2", "weights=workload.weights * np.abs(lead)"),
        ("_left_out", "np.minimum.at(least, same, limit)", "np.maximum.at(least, same, limit)"),
        ("_left_out", "limit = workload.targets[finite] / lead**2", "limit = workload.targets[finite] * lead**2"),
    ),
    *_rows(
        "mmopt/compiler/reductions/blocks.py",
        "compiler/reductions/test_two_ways.py pipeline/test_reduced.py",
        ("lift", "scales, total = bounds, float(bounds.sum())", "scales, total = bounds, float(bounds.max())"),
        ("lift", "factor = scale / size if", "factor = size / scale if"),
    ),
    *_rows(
        "mmopt/compiler/reductions/kronecker.py",
        "compiler/reductions/test_two_ways.py pipeline/test_reduced.py",
        ("applies", "weight=1.0 if place else product.weight", "weight=product.weight"),
        ("lift", "bound = math.prod(bounds)", "bound = sum(bounds)"),
    ),
    # -- certificates and repairs
    *(
        Mutant(f"programs/{name}.program", section, old, new, (f"testing/test_weak_duality.py::test_shipped_certificates_hold[{name}]",))
        for name, section, old, new in (
            ("l2_strategy", "certificate", "nuclear(W @ diag(sqrt(d)))**2 / sum(d)", "nuclear(W @ diag(sqrt(d)))**2 / max(d)"),
            ("l2_strategy", "repair", "X = X / max(diag(X))", "X = X / min(diag(X))"),
            ("l2_strategy_block", "certificate", "diag(sqrt(d))", "diag(d)"),
            ("fitness_for_use", "certificate", "(sum(p) * (c @ q))", "(sum(p) * min(c) * sum(q))"),
            ("fitness_for_use", "repair", "Sigma = Sigma * min(", "Sigma = Sigma * max("),
            ("fitness_budget", "certificate", "(budget * sum(p) * sum(q))", "(sum(p) * sum(q))"),
            ("fitness_penalty", "certificate", "2 * nuclear(", "3 * nuclear("),
            ("fitness_hybrid", "certificate", "/ sqrt(sum(p))", "/ sum(p)"),
            ("fitness_dual", "certificate", "2 * sqrt(max(", "sqrt(max("),
            ("fitness_level", "certificate", "+ (free * p) @ f)", "+ 2 * (free * p) @ f)"),
            ("query_weighting", "certificate", "sum(sqrt(c * ((D * D) @ mu)))**2 / sum(mu)", "sum(sqrt(c * (abs(D) @ mu)))**2 / sum(mu)"),
            ("group_weighting", "certificate", "**2 / sum(mu)", "**2 / max(mu)"),
            ("separate_weighting", "certificate", "/ sum(N, axis=1)", "/ max(N, axis=1)"),
            ("laplace_weighting", "certificate", "**3 / sum(mu)**2", "**3 / sum(mu)"),
            ("design_weighting", "certificate", "* sum(mu))", "* max(mu))"),
            ("weighted_l2", "certificate", "/ sum(d)", "/ max(d)"),
            ("low_rank_strategy", "certificate", "- sum(Y**2) / (4 * beta)", "+ sum(Y**2) / (4 * beta)"),
            ("low_rank_gaussian_strategy", "certificate", "- near * sum(T * (T + 2 * S))", "+ near * sum(T * (T + 2 * S))"),
            ("min_sensitivity", "certificate", "max(sqrt(diag(S)))", "sum(sqrt(diag(S)))"),
        )
    ),
    *_rows(
        "mmopt/pipeline/certify.py",
        "pipeline/test_certify.py",
        ("bound_of", "float(ball.lower if minimized else ball.upper)", "float(ball.mid)"),
        ("charged", "worth if minimized else -worth", "-worth if minimized else worth"),
        ("scored", "loss += after * abs(loss)", "loss -= after * abs(loss)"),
        ("_promised", "return np.maximum(value, 0.0) if d.sign else value", "return np.abs(value) if d.sign else value"),
        ("_promised", "np.clip(values, 0.0, None)", "np.abs(values)"),
        ("is_feasible", "self.after <= FEASIBLE and", "self.after <= 1e-3 and"),
        ("_declared", "np.asarray(np.maximum(value, floor))", "np.asarray(np.abs(value))"),
    ),
    *_rows(
        "mmopt/language/feasibility.py",
        "language/test_feasibility.py",
        ("_over", 'over = left - right if constraint.relation.op == "<="', 'over = left - right if constraint.relation.op == ">="'),
        ("_over", 'return np.abs(over) if constraint.relation.op == "=="', 'return np.abs(over) if constraint.relation.op == "<"'),
        ("_off", 'gap = (left - right if relation.op == ">>"', 'gap = (left - right if relation.op == "<<"'),
    ),
    # -- what verify compares
    *_rows(
        "mmopt/pipeline/audit/recheck.py",
        "pipeline/audit/test_tampered.py pipeline/audit/test_verify.py",
        ("_close", "<= CLOSE * size)", "<= 1e9 * CLOSE * size)"),
        ("objective", 'self.rows.figure("objective", s.objective, lambda: point.objective)', 'self.rows.figure("objective", s.objective, lambda: s.objective)'),
        ("objective", 'self.rows.figure("value", s.value, lambda: value_of(instance, point.env, point.objective))', 'self.rows.figure("value", s.value, lambda: s.value)'),
        ("bound", 'bound = self.rows.figure("bound", s.bound, compute)', 'bound = self.rows.figure("bound", s.bound, lambda: s.bound)'),
        ("bound", 'self.rows.add("gap", stated, gap, same)', 'self.rows.add("gap", stated, gap, True)'),
        ("costs", 'self.rows.figure("error bound", s.error_bound, self.error_bound)', 'self.rows.figure("error bound", s.error_bound, lambda: s.error_bound)'),
        ("costs", 'self.rows.figure("rmse", s.rmse, lambda: rmse(s.strategy, self.workload))', 'self.rows.figure("rmse", s.rmse, lambda: s.rmse)'),
        ("costs", "lambda: charged_error(s.strategy, self.workload)", "lambda: s.error"),
        ("costs", "_close(s.sensitivity, sensitivity) and not", "not"),
        ("same_array", "return off <= CLOSE_ARRAY", "return off <= 1e9 * CLOSE_ARRAY"),
        ("bound", "s.gap is not None and s.gap <= tolerance", "s.gap is not None"),
    ),
    # -- data
    *_rows(
        "mmopt/data/codes.py",
        "data/test_vector.py",
        ("cell_code", "(reading.number < first, size + OUTSIDE)", "(reading.number < first, 0)"),
        ("cell_code", "(reading.number < upper, cell)", "(reading.number <= upper, cell)"),
        ("cell_code", "(reading.missing, size + MISSING)", "(reading.missing, size + OUTSIDE)"),
        ("_read", 'unreadable = boolean.notin(["true", "false"])', "unreadable = None"),
    ),
    *_rows(
        "mmopt/data/vector.py",
        "data/test_vector.py data/test_errors.py",
        ("data_vector", "kept &= target >= 0", "kept |= target >= 0"),
        ("_targets", "MISSING: attribute.missing", "MISSING: attribute.outside"),
    ),
)  # fmt: skip
