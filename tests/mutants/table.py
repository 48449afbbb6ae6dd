"""Small wrong edits of lines that a guarantee rests on, each with the tests that have to notice it.

A row: the file, the function (in a program file the section), the text that stands in the file exactly once,
what is put in its place, and the tests that kill it (below ``tests/``). ``run.py`` applies them.
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


def _laws(file: str, *edits: tuple[str, str, str, str]) -> tuple[Mutant, ...]:
    """Rows that a law of the atoms kills: function, "atom-law", old text, new text."""
    law = "language/atoms/test_atom_law.py::test_law"
    return tuple(Mutant(file, function, old, new, (f"{law}[{case}]",)) for function, case, old, new in edits)


def _certificates(*edits: tuple[str, str, str, str]) -> tuple[Mutant, ...]:
    """Rows of programs that their test of weak duality kills: program, section, old text, new text."""
    test = "testing/test_certificate_trials.py::test_shipped_certificates_hold"
    return tuple(Mutant(f"programs/{p}.program", s, old, new, (f"{test}[{p}]",)) for p, s, old, new in edits)


MUTANTS = (
    # -- directed rounding
    *_rows(
        "mmopt/numerics/outward.py",
        "numerics/test_outward.py",
        ("plus_up", "np.where(error > 0, ", "np.where(error < 0, "),
        ("times_up", "np.where(certain, error <= 0,", "np.where(certain, error >= 0,"),
        ("root_up", "np.where(certain, short >= 0, a == 0)", "np.where(certain, short <= 0, a == 0)"),
        ("_lost", "+ a_low * b_low)", "- a_low * b_low)"),
        ("times_up", "(product > _TINY)", "(product >= 0)"),
        ("not_below", "(1.0 + 2.0 * terms * EPS)", "(1.0 - 2.0 * terms * EPS)"),
        ("_upward", "root_up(sums) if norm", "np.sqrt(sums) if norm"),
        ("_not_below", "< 2.0**53", "< 2.0**60"),
        ("_difference_by_gram", "error = 8.0 *", "error = 0.0 *"),
        ("largest_difference", "rows[start + 1 :], metric", "rows[start + 2 :], metric"),
        ("largest_difference", 'metric = "cityblock"', 'metric = "chebyshev"'),
        ("column_powers", "np.square(scaled)", "np.abs(scaled)"),
        ("rounded", "ROUND_CEILING if up", "None if up"),
        ("rounded", "else ROUND_FLOOR", "else None"),
    ),
    # -- integers, sensitivities
    *_rows(
        "mmopt/privacy/rounding/integer_arithmetic.py",
        "privacy/rounding/test_integer_arithmetic.py",
        ("integer_product", "bound < 2**53", "bound < 2**58"),
        ("largest_entry", "abs(int(matrix.min()))", "int(matrix.min())"),
        ("largest_squared_difference", "- 2 * inner)", "- inner)"),
        ("largest_absolute_difference", '"cityblock"', '"chebyshev"'),
        ("_small_product", "(middle << _LIMB)", "(middle << (_LIMB - 1))"),
        ("largest_absolute_sum", "largest_row_sum(matrix.T)", "largest_row_sum(matrix)"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_arithmetic.py",
        "mechanism/test_margins.py",
        ("integer_product", "if bound < _LIMIT:", "if bound < 4 * _LIMIT:"),
        ("root_above", "math.isqrt(squared << 128) + 1", "math.isqrt(squared << 128)"),
    ),
    # -- calibration, quantiles
    *_rows(
        "mmopt/privacy/guarantee.py",
        "mechanism/test_margins.py privacy/test_guarantee.py",
        ("float_above", "Fraction(nearest) >= value", "Fraction(nearest) <= value"),
        ("_tail", "(order / a).ln() - (a.ln()", "(order / a).ln() + (a.ln()"),
        ("zcdp_rho", "zcdp_epsilon(rho, delta) > epsilon", "zcdp_epsilon(rho, delta) > 2 * epsilon"),
    ),
    *_rows(
        "mmopt/privacy/calibration.py",
        "mechanism/test_margins.py",
        ("least_scale_by_cost", "parts, scale) > allowed", "parts, scale) > 2 * allowed"),
    ),
    *_rows(
        "mmopt/privacy/noise.py",
        "mechanism/test_margins.py mechanism/test_release_plan.py privacy/rounding/test_integer_product.py",
        ("Noise.cost", "Fraction(scale)) * (1 + _OPENDP_SLACK)", "Fraction(scale))"),
        ("cost", "part.relative * scale)", "2 * part.relative * scale)"),
        ("cost", "float_above(sum(each, Fraction(0)))", "float_above(max(each))"),
    ),
    *_rows(
        "mmopt/privacy/table_of_noises.py",
        "privacy/test_table_of_noises.py",
        ("", "math.isqrt(squared) / scale", "math.isqrt(squared) / (2 * scale)"),
        ("", "Fraction(squared) / (2 * scale**2)", "Fraction(squared) / (4 * scale**2)"),
        ("", "least_scale=math.sqrt", "least_scale=float"),
        (
            "",
            'dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)',
            'dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=2 * scale)',
        ),
        ("_laplace_variance", "math.sinh(min(0.5 / scale", "math.sinh(min(0.6 / scale"),
        ("_laplace_log_transform", "np.sin(x / 2)", "np.sin(x / 3)"),
        ("_gaussian_log_transform", "-0.5 * np.square(scale * near)", "-0.6 * np.square(scale * near)"),
        ("_laplace_imitate", "np.expm1(-1.0 / scales)", "np.expm1(-2.0 / scales)"),
        ("", "math.sqrt(2 * math.log(2 / missed))", "math.sqrt(math.log(2 / missed))"),
    ),
    # -- the delta of a scale
    *_rows(
        "mmopt/privacy/guarantee.py",
        "privacy/test_calibration.py",
        ("gaussian_delta", "first * (1 + _GUARD)", "first * (1 - _GUARD)"),
        ("gaussian_delta", "exp() * second", "exp() * first"),
        ("_normal_tail", "return 1 - high, 1 - low", "return low, high"),
        ("_normal_tail", "return low, high", "return high, high"),
        ("_normal_tail", "count = 30 + int(700", "count = 1 + int(7"),
        ("discrete_gaussian_delta", "math.floor(least) + 1", "math.floor(least) + 2"),
        ("discrete_gaussian_delta", "total + weight / (1 - ratio) + guard", "total + guard"),
        ("discrete_gaussian_delta", "summed = 1 + 2 * sum(", "summed = 2 + 2 * sum("),
    ),
    *_rows(
        "mmopt/privacy/table_of_noises.py",
        "privacy/test_calibration.py",
        ("_gaussian_distance", "rows / (16 * s * s)", "rows / (64 * s * s)"),
        ("_gaussian_distance", "if s >= 1 else rows", "if s > 0 else rows"),
        ("_gaussian_deltas", "(1 + Decimal(epsilon).exp(context))", "Decimal(1)"),
        ("_gaussian_deltas", "one_count = len(parts) == 1 and", "one_count ="),
        ("_gaussian_deltas", "len(parts) == 1 and parts[0].is_one_count", "len(parts) == 1"),
    ),
    *_rows(
        "mmopt/privacy/calibration.py",
        "privacy/test_calibration.py",
        ("_least", "/ 2\n    return high", "/ 2\n    return low"),
        ("approximate_epsilon", "        implied = asked", "        pass"),
        ("_least", "if bound(first) > delta", "if bound(first) > 1"),
        ("finer", "part.squared_sensitivity << 2 * fineness", "part.squared_sensitivity << fineness"),
    ),
    *_rows(
        "mmopt/mechanism/accuracy.py",
        "mechanism/test_intervals.py mechanism/test_release_plan.py",
        ("_query", "(sizes > 1e-12) | (", "(sizes > 1e-12) & ("),
        ("_half_width", " and min(sizes) > 1e-10", ""),
        ("intervals", "(1 + confidence + apart) / 2", "confidence"),
        ("_half_width", "2 * np.cumsum(chances) - chances[0]", "2 * np.cumsum(chances)"),
        ("_half_width", "common_step(np.array(sizes), 1e-10)", "common_step(np.array(sizes[-1:]), 1e-10)"),
        ("_half_width", "(at + 0.5 + blur) * unit", "(at + 0.5 - blur) * unit"),
        ("deviations", "np.sqrt(own), -fineness", "np.square(own), -fineness"),
    ),
    *_rows(
        "mmopt/privacy/table_of_noises.py",
        "mechanism/test_intervals.py",
        ("_laplace_tail", "laplace_quantile(missed * 0.999) + rest", "laplace_quantile(missed * 0.999)"),
        ("_laplace_tail", "laplace_quantile(missed / 2))", "laplace_quantile(missed))"),
        ("_laplace_exceeded", "math.exp(-1.5)", "math.exp(-2.5)"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_dense.py",
        "privacy/rounding/test_integer_dense.py",
        (
            "_measured",
            "squared_sensitivity(matrix, strategy.norm,",
            "squared_sensitivity(core, strategy.norm,",
        ),
        ("_measured", "squared_lengths(), 2 * bits", "squared_lengths(), bits"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_strategy.py",
        "mechanism/test_release_plan.py",
        ("standard_errors", "self.relative, -self.bits)", "self.relative, -self.bits - 1)"),
    ),
    # -- sets of neighbours
    *_rows(
        "mmopt/numerics/participation.py",
        "numerics/test_participation.py",
        ("largest_sums", "best[..., : max(0, n + 1 - separation)]", "best[..., : max(0, n - separation)]"),
        ("largest_sums", "following[..., separation:] +=", "following[..., separation + 1 :] +="),
        (
            "largest_block",
            "np.abs(steps[:, None] - steps) >= separation",
            "steps[:, None] - steps >= separation",
        ),
        ("largest_block", "others[large], separation, most - 1", "others[large], separation, most - 2"),
        ("largest_block", "added[large] = largest", "added[~large] = largest"),
        ("_enumerated", "+ 2 * rows[place, last]", "+ rows[place, last]"),
        ("_enumerated", "rows = rows[place] + weights[last]", "rows = rows[place]"),
        ("participation_norm", "np.abs(scaled.T @ scaled)", "(scaled.T @ scaled)"),
        ("participation_norm", "np.ldexp(found, exponent), np.inf", "found, np.inf"),
    ),
    *_rows(
        "mmopt/strategies/neighbours.py",
        "strategies/test_neighbours.py",
        ("Neighbours.over", "may_drop=workload.domain.may_drop", "may_drop=False"),
        ("Neighbours.over", "if len(names) != 1:", "if False:"),
        ("Neighbours.over", 'if rule not in ("", "refuse", "drop"):', "if False:"),
        ("Neighbours.times", "return self.at_most", "return 1"),
        ("Neighbours.__post_init__", '{"separation": 1, "may_drop": False}', '{"separation": 1}'),
        (
            "Neighbours.sensitivity",
            "self.separation, self.at_most)\n            case _:\n                assert_never(self.kind)",
            "self.separation, self.at_most)\n            case _:\n                return 0.0",
        ),
        ("Neighbours.sensitivity", "if self.may_drop else moved", "if False else moved"),
        ("Neighbours.share", "self.at_most**2", "self.at_most**3"),
        ("Neighbours.share", "float(self.may_drop)", "1.0"),
        ("Neighbours.share", "[at : at + k].max()", "[at : at + k].min()"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_arithmetic.py",
        "strategies/test_neighbours.py",
        (
            "squared_sensitivity",
            "norm, neighbours)\n        case _:\n            assert_never(neighbours.kind)",
            "norm, neighbours)\n        case _:\n            return 0",
        ),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_arithmetic.py",
        "privacy/rounding/test_neighbours_of_integers.py",
        ("squared_sensitivity", "norm) * neighbours.at_most**2", "norm) * neighbours.at_most"),
        ("_squared_participation", "np.abs(_gram(matrix))", "_gram(matrix)"),
        ("_squared_participation", "-(-weights >> shift)", "weights >> shift"),
        ("_squared_participation", "return total if norm == 2 else total**2", "return total"),
        ("bound_by_column", "return squared * neighbours.at_most**2", "return squared"),
        ("bound_by_column", 'case "participation":\n            raise', 'case "nobody":\n            raise'),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_dense.py",
        "privacy/rounding/test_neighbours_of_integers.py",
        (
            "_measured",
            "changes, growth = neighbours.over(workload), 1.0",
            "changes, growth = ADD_REMOVE, 1.0",
        ),
        ("parts", "self.neighbours.is_one_row and is_one", "is_one"),
    ),
    *_rows(
        "mmopt/strategies/strategy_form.py",
        "strategies/test_neighbours.py",
        ("sensitivity_to", "times_up(neighbours.times, self.largest_column)", "self.largest_column"),
        ("sensitivity", "self.sensitivity_to(self.neighbours)", "self.sensitivity_to(ADD_REMOVE)"),
    ),
    *_rows(
        "mmopt/driver/judge/point_meaning.py",
        "driver/judge/test_program_neighbours.py",
        (
            "_meant",
            "Strategy(frozen(matrix), m.norm, instance.neighbours)",
            "Strategy(frozen(matrix), m.norm)",
        ),
        ("_meant", "basis), neighbours=instance.neighbours)", "basis))"),
    ),
    *_rows(
        "mmopt/driver/judge/bound_on_total_error.py",
        "driver/judge/test_program_neighbours.py",
        ("for_neighbours", "else bound * neighbours.share(d)", "else bound * neighbours.share(d) ** 1.5"),
    ),
    *_rows(
        "mmopt/compiler/bind.py",
        "driver/judge/test_program_neighbours.py",
        ("Instance.neighbours", 'found = Neighbours("participation", k, b)', 'found = Neighbours("rows", 1)'),
        ("Instance.neighbours", 'found = Neighbours("rows", k)', "found = ADD_REMOVE"),
    ),
    *_rows(
        "mmopt/compiler/reductions/reduction_step.py",
        "driver/judge/test_program_neighbours.py",
        ("reducible", "if instance.neighbours != ADD_REMOVE:", "if False:"),
    ),
    *_rows(
        "mmopt/proof/recheck.py",
        "driver/judge/test_program_neighbours.py",
        ("strategy", "same = same and s.strategy.neighbours == meant.neighbours", "pass"),
    ),
    *_rows(
        "mmopt/mechanism/make_plan.py",
        "driver/judge/test_program_neighbours.py",
        ("plan", "strategy.neighbours if neighbours is None else neighbours", '"add-remove"'),
    ),
    *_rows(
        "mmopt/answers/least_budget.py",
        "cli/commands/test_neighbours.py::test_a_budget_for_persons_is_k_squared_times_that_for_rows",
        ("_bound", "else times * 2 * math.asinh", "else times**2 * 2 * math.asinh"),
        ("_bound", "return times**2 * fitness.bound / 2", "return times**3 * fitness.bound / 2"),
    ),
    *_rows(
        "mmopt/comparison/predicted_errors.py",
        "comparison/test_predicted_errors.py",
        ("_continuous", "times * unit_rmse * noise", "unit_rmse * noise"),
    ),
    # -- changed counts
    *_rows(
        "mmopt/privacy/rounding/integer_dense.py",
        "privacy/test_calibration.py",
        ("parts", "is_one = self.neighbours.is_one_row and", "is_one ="),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_marginals.py",
        "privacy/test_calibration.py",
        ("parts", "is_one_count=self.neighbours.is_one_row", "is_one_count=True"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_marginals.py",
        "privacy/rounding/test_row_sensitivity.py::test_no_row_costs_more_than_is_claimed[marginals-1]",
        ("parts", "else int(self.changes.may_drop)", "else 0"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_equal_core.py",
        "privacy/rounding/test_integer_sectors.py",
        ("_gram", "others * (others - 1) // 2", "others * (others + 1) // 2"),
        ("_gram", "int(i < k) * others", "int(i < k)"),
        ("_of_four", "math.perm(k, width)", "math.comb(k, width)"),
        ("_of_four", "two + 0.5 *", "two + 0.25 *"),
        ("_of_four", "2 * pair[values, values]", "pair[values, values]"),
        ("_of_four", "gram[2, 2, 0] / 4", "gram[2, 2, 0] / 8"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_cores.py",
        "privacy/rounding/test_integer_sectors.py",
        ("weight", "s * (s - 1)", "(s - 1) * (s - 1)"),
        ("squares", "[cells[:, i]] == o", "[cells[:, i]] != o"),
        ("gram", "((mixed + mixed.T) << 15)", "(mixed << 16)"),
        ("add_to", "1.0 if one == other else 2.0", "1.0"),
        ("add_to", "fixed.get(i, slice(1, None))", "slice(1, None)"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_sectors.py",
        "privacy/rounding/test_integer_sectors.py",
        ("_squared", "is_nonnegative=False", "is_nonnegative=True"),
        ("_core", "rounded(matrix, math.prod(one.sizes))", "rounded(matrix)"),
    ),
    *_rows(
        "mmopt/privacy/rounding/sums_on_sectors.py",
        "privacy/rounding/test_integer_sectors.py",
        ("sums_of", "len(members[i]) * own - own.sum", "own - own.sum"),
    ),
    *_rows(
        "mmopt/strategies/measured_parts.py",
        "strategies/test_measured_parts.py",
        ("_plain", "math.sqrt(math.prod(", "math.sqrt(1.0 + 0 * math.prod("),
        ("_invertible", "return root, 1.01 * (off", "return root, 0.0 * (off"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_union.py",
        "privacy/test_calibration.py",
        ("parts", "is_one_count=self.neighbours.is_one_row and all(", "is_one_count=all("),
        ("parts", "all(map(is_one_count, own))", "any(map(is_one_count, own))"),
    ),
    # -- the ledger
    *_rows(
        "mmopt/ledger/composition.py",
        "ledger/test_composition.py",
        ("cost_in", "Fraction(cost) ** 2 / 2", "Fraction(cost) ** 2 / 4"),
        ("cost_in", "    if rho is not None:\n        raise", "    if False:\n        raise"),
        ("spent", "whole + max(parts.values(), default=Fraction(0))", "max([whole, *parts.values()])"),
        ("spent", "return whole + parts[account_of_part(part)]", "return parts[account_of_part(part)]"),
        ("account_of_part", "str(number.normalize() or Decimal(0))", "text"),
        ("below", "return 0.0 - float_above(-cost)", "return float_above(cost)"),
    ),
    *_rows(
        "mmopt/ledger/charge.py",
        "ledger/test_charge.py",
        ("_cost", "if cost > remaining:", "if above(cost) > 1.001 * above(remaining):"),
        ("_cost", "left(account, self.part)", "left(account)"),
        ("_cost", "if terms.neighbours != neighbours:", "if False:"),
        ("_refuse_names", "if terms.data_set != self.data_set:", "if False:"),
    ),
    *_rows(
        "mmopt/ledger/ledger_file.py",
        "ledger/test_ledger_file.py",
        ("spend", '"BEGIN IMMEDIATE"):\n        account', '"BEGIN"):\n        account'),
        ("_read", "if count != len(rows):", "if False:"),
        ("_read", 'if made - {("table", "terms"), ("table", "entries")}:', "if False:"),
        (
            "create",
            'EXTRA")\n            connection.executescript',
            'OFF")\n            connection.executescript',
        ),
        ("_opened", 'EXTRA")\n            yield', 'OFF")\n            yield'),
    ),
    *_rows(
        "mmopt/ledger/ledger_rows.py",
        "ledger/test_ledger_file.py",
        ("entry_of", "or digest != checksum(held) ", ""),
        ("terms_of", "if amount > allowed:", "if False:"),
        ("amount_text", "if largest >= 10**DIGITS:", "if False:"),
    ),
    *_rows(
        "mmopt/ledger/privacy_ledger.py",
        "ledger/test_privacy_ledger.py",
        ("create", "str(unit) != str(ADD_REMOVE)", "not unit.is_one_row"),
        ("create", "if total > LARGEST:", "if False:"),
    ),
    *_rows(
        "mmopt/answers/one_call.py",
        "answers/test_charged_release.py::test_the_ledger_is_charged_before_noise_is_drawn",
        (
            "measured",
            "    with charged(bill if simulate_seed is None else None, planned.plan, origin) as charge:\n"
            "        answers = exact.answers()\n",
            "    answers = exact.answers()\n"
            "    with charged(bill if simulate_seed is None else None, planned.plan, origin) as charge:\n",
        ),
    ),
    *_rows(
        "mmopt/data/part_of_rows.py",
        "data/test_part_of_rows.py",
        (
            "is_in_part",
            "hash_of(text) == hashlib.sha256(part[1].encode()).hexdigest()",
            "text == part[1]",
        ),
        ("is_in_part", "kind.is_string() or kind.is_integer()", "True"),
    ),
    *_rows(
        "mmopt/mechanism/measurement.py",
        "answers/test_charged_release.py::test_a_plan_that_was_changed_is_refused_before_spending",
        ("counted_exactly", "        check_claim(plan)\n", "        pass\n"),
    ),
    *_rows(
        "mmopt/privacy/rounding/rounded_rows.py",
        "privacy/test_calibration.py",
        ("is_one_count", "<= 1).all()", "<= 2).all()"),
    ),
    *_rows(
        "mmopt/privacy/rounding/rounded_rows.py",
        "privacy/rounding/test_integer_dense.py",
        ("common_step", "min(accuracy * counts[-1], 1e-4)", "0.3"),
        ("rounded_core", "own, 0, float(np.abs(own).max() / np.abs(real).max())", "own, 0, 1.0"),
        ("rounded_core", "if np.linalg.matrix_rank(own) == own.shape[1]:", "if True:"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_arithmetic.py",
        "privacy/rounding/test_row_sensitivity.py::test_no_row_costs_more_than_is_claimed[matrix-2]",
        (
            "squared_sensitivity",
            "max(_largest_squared(matrix, norm), moved) if neighbours.may_drop else moved",
            "moved",
        ),
        (
            "squared_sensitivity",
            '"rows":\n            return _largest',
            '"rows" | "replace-one":\n            return _largest',
        ),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_arithmetic.py",
        "privacy/rounding/test_integer_arithmetic.py",
        ("bound_by_column", "2 if norm == 2 and is_nonnegative else 4", "2 if is_nonnegative else 4"),
        ("bound_by_column", "2 if norm == 2 and is_nonnegative else 4", "2 if norm == 2 else 4"),
    ),
    # -- blocks of queries
    *_rows(
        "mmopt/workloads/blocks/range_blocks.py",
        "workloads/blocks/test_laws.py",
        ("_gram", "self.size - np.maximum.outer(cells, cells)", "self.size - np.minimum.outer(cells, cells)"),
        ("classes", "np.minimum(cells, self.rows - 1)", "np.minimum(cells, self.rows)"),
        ("range_gram", "np.triu(found, 1).T", "np.triu(found, 0).T"),
        ("_adjoint", "return sums_from(y)", "return np.cumsum(y, axis=-1)"),
    ),
    *_rows(
        "mmopt/workloads/blocks/modified_blocks.py",
        "workloads/blocks/test_laws.py",
        ("ScaledRows._gram", "self.inner.gram_of_weighted(self.weights)", "self.inner.gram()"),
        ("power", "return size if norm == 1 else times_up(size, size)", "return size"),
    ),
    *_rows(
        "mmopt/workloads/blocks/placed_blocks.py",
        "workloads/blocks/test_laws.py",
        ("Reordered._apply", "self.inner.apply(x[..., self.order])", "self.inner.apply(x[..., self._place])"),
        ("Padded.classes", "constant_values=-1", "constant_values=0"),
        ("Padded._apply", "x[..., : self.inner.size]", "x[..., -self.inner.size :]"),
    ),
    *_rows(
        "mmopt/workloads/blocks/kronecker_products.py",
        "workloads/blocks/test_laws.py",
        ("squared_norms", "kron([part.squared_norms() for", "kron([part.squared_norms() ** 2 for"),
        ("Stack.__init__", "any(block.full_rank for block in blocks)", "True"),
    ),
    *_rows(
        "mmopt/workloads/domain.py",
        "workloads/test_domain.py",
        ("may_drop", 'rule in ("", "drop")', 'rule == "drop"'),
        ("may_drop", "for rule in (a.outside, a.missing)", "for rule in (a.outside,)"),
    ),
    *_rows(
        "mmopt/workloads/workload_sum.py",
        "workloads/test_workload_sum.py",
        ("_joined", "_check_domains(first.domain, second.domain)", "pass"),
        ("_joined", "if first.is_normalised != second.is_normalised:", "if False:"),
        ("_difference", "one.encoding.describe() == other.encoding.describe()", "True"),
    ),
    # -- labels, none of which may come from data
    *_rows(
        "mmopt/workloads/frame_labels.py",
        "request/test_python_values.py",
        ("listed", "len(set(items)) < len(items)", "False"),
        ("listed", "and isinstance(declared, Sized)", ""),
    ),
    *_rows(
        "mmopt/workloads/frame_labels.py",
        "workloads/test_frame_labels.py",
        ("check_labels", "labels != tuple(names)", "len(labels) != len(names)"),
    ),
    *_rows(
        "mmopt/mechanism/answer_columns.py",
        "mechanism/test_answer_columns.py",
        (
            "_rounded",
            "rounded(str(low), min(_digits(low, error), 15), up=False)",
            "rounded(str(low), 12, up=True)",
        ),
        (
            "_rounded",
            "rounded(str(high), min(_digits(high, error), 15), up=True)",
            "rounded(str(high), 12, up=False)",
        ),
    ),
    *_rows(
        "mmopt/mechanism/covariances.py",
        "mechanism/test_covariances.py",
        ("covariance", "np.repeat(own, [", "np.repeat(own**2, ["),
        ("_coefficients", "reconstruction.left.take(rows)", "reconstruction.left.take(rows * 0)"),
    ),
    *_rows(
        "mmopt/answers/read_folder.py",
        "answers/test_read_folder.py",
        ("_check_files", 'and found != entry["sha256"]', "and not found"),
        ("read_answers", "if value != told.get(key):", "if False:"),
        ("read_answers", "if other != text:", "if False:"),
    ),
    *_rows(
        "mmopt/workloads/tidy_columns.py",
        "workloads/test_tidy_columns.py",
        ("_of_sets", "is_run = is_set & (", "is_run = ("),
        (
            "_ends",
            "edges[np.where(is_range, at, 0)], np.nan) for at in (low, high + 1)",
            "edges[np.where(is_range, at, 0)], np.nan) for at in (low, high)",
        ),
    ),
    *_rows(
        "mmopt/mechanism/measurement.py",
        "mechanism/test_intervals.py",
        ("_whole", "<= 1e-8 + 1e-13", "<= 0.4 + 1e-13"),
    ),
    *_rows(
        "mmopt/privacy/rounding/rounded_rows.py",
        "privacy/rounding/test_integer_dense.py",
        ("check_loss", "np.max(rounded / unrounded)", "np.min(rounded / unrounded)"),
    ),
    # -- forms of strategies
    *_rows(
        "mmopt/strategies/strategy_form.py",
        "strategies/test_form_laws.py",
        ("mean_variance", "self.squared_error(workload.unweighted)", "self.squared_error(workload)"),
        (
            "total_error",
            "return self.sensitivity * self.sensitivity * squared",
            "return self.sensitivity * squared",
        ),
        ("estimate", "noisy @ matrix @ inverse @ inverse.T", "noisy @ matrix @ inverse.T @ inverse"),
    ),
    *_rows(
        "mmopt/strategies/union_strategy.py",
        "strategies/test_form_laws.py",
        ("variances", "share**2 / part", "share / part"),
        ("divided", "share / by", "share * by"),
    ),
    *_rows(
        "mmopt/strategies/marginals_strategy.py",
        "strategies/test_form_laws.py",
        ("sensitivity", "if self.norm == 1 else", "if self.norm == 2 else"),
        ("squared_error", "energy[asked] / self.eigenvalues[asked]", "energy[asked] / self.eigenvalues[0]"),
    ),
    *_rows(
        "mmopt/strategies/product_strategy.py",
        "strategies/test_form_laws.py",
        (
            "squared_error",
            "products_of(workload.weighed, self.sizes)",
            "products_of(workload, self.sizes[::-1])",
        ),
        ("_told", "self.factors[i].variances", "self.factors[0].variances"),
    ),
    *_rows(
        "mmopt/strategies/component_strategy.py",
        "strategies/test_form_laws.py",
        ("_of_rows", "return often * told, often * missed", "return told, often * missed"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_union.py",
        "strategies/test_form_laws.py",
        ("round_union", "size / (share * part.sensitivity)", "size * share / part.sensitivity"),
        ("_squared", "return [bound_by_column(a, norm, neighbours, sign)", "return [a"),
    ),
    # -- error bounds
    *_rows(
        "mmopt/numerics/balls.py",
        "numerics/test_balls.py language/atoms/test_atom_law.py::test_law[add-balls]",
        ("", "U = EPS / 2", "U = EPS / 64"),
        ("gamma", "return k * U / (1.0 - k * U)", "return 0.0"),
        ("rounded", "out *= U", "out *= 0.0"),
        ("_mul", "a.rad * (np.abs(b.mid) + b.rad)", "a.rad * np.abs(b.mid)"),
        ("div", "(a.rad + np.abs(mid) * b.rad) / safe", "a.rad / safe"),
        ("div", "low = np.abs(b.mid) - b.rad", "low = np.abs(b.mid)"),
        ("sqrt", "np.maximum(ends[1] - mid", "np.minimum(ends[1] - mid"),
        ("matmul", "rad += one @ b.rad[here]", "rad += 0.5 * one @ b.rad[here]"),
        ("total", "np.sum(a.rad, axis=axis) +", "np.max(a.rad, axis=axis) +"),
        ("extreme", "np.max(a.rad, axis=axis)", "np.min(a.rad, axis=axis)"),
        ("dots", "np.einsum(sums, np.abs(a", "0.5 * np.einsum(sums, np.abs(a"),
        ("scaled", "(a.rad + 4 * U * np.abs(a.mid)) * sizes", "a.rad * sizes"),
        ("upper", "np.nextafter(self.mid + self.rad, np.inf)", "self.mid"),
        ("product_radii", "gamma(a.shape[1]) *", "gamma(1) * 0.01 *"),
    ),
    *_rows(
        "mmopt/numerics/balls.py",
        "numerics/test_wide_balls.py",
        ("power", "size and not out.rad.any", "size and out.rad.any"),
    ),
    *_rows(
        "mmopt/numerics/ball_functions.py",
        "numerics/test_ball_functions.py",
        ("exp", "np.maximum(high - mid, mid - low) + POWER * (mid + high)", "POWER * (mid + high)"),
        ("log", "known = _ends(a)[0] > 0", "known = a.mid > 0"),
        ("logsumexp", "sub(a, exact(top))", "exact(a.mid - top)"),
        ("polar", "moved = skew + 2.0 * away", "moved = 1e-3 * away"),
        ("stack", "kept = (np.abs(both.mid) > both.rad).any(axis=1)", "kept = both.mid.any(axis=1)"),
    ),
    *_rows(
        "mmopt/numerics/ball_inverse.py",
        "numerics/test_wide_balls.py numerics/test_ball_inverse.py",
        ("sandwich", "_lengths(missing)) / inverse.least)", "_lengths(missing)) * 1e-9)"),
        ("_diagonal", "_lengths(behind) * _lengths(missing) / inverse.least", "_lengths(behind) * 0.0"),
        ("smallest_singular", "return (1.0 - off) /", "return (1.0 + 9 * off) /"),
    ),
    *_rows(
        "mmopt/numerics/ball_functions.py",
        "numerics/test_ball_functions.py",
        ("_least", "return s - slip - float(", "return s + slip + float("),
        ("root", "min(bounds)", "0.0"),
        ("smallest_eigenvalue", "(guess - size, guess / 2, 0.0)", "(guess + size, guess / 2, 0.0)"),
    ),
    *_rows(
        "mmopt/numerics/ball_inverse.py",
        "numerics/test_ball_inverse.py",
        ("_bits", "(51 -", "(60 -"),
        ("_residual", "np.abs(rest))) + 2 * (terms + 4) * U * sizes", "np.abs(rest)))"),
        ("_residual", "low = low + ((high - (total - moved))", "low = low - ((high - (total - moved))"),
        ("plain_residual", "2 * (x.shape[1] + 4) * U * sizes", "0.0 * sizes"),
    ),
    *_rows(
        "mmopt/numerics/ball_nuclear.py",
        "numerics/test_ball_nuclear.py",
        ("_above", "total / float(np.sqrt(1.", "total * float(np.sqrt(1."),
        ("_above", "+ float(np.sqrt(len(mid))) * _norm(rad)", ""),
        ("_below", "/ float(np.sqrt(1.0 + off + slip))", ""),
        ("_below", "float(inner.sum()) - change - lost", "float(inner.sum()) - change"),
    ),
    # -- curvature and sign
    *_laws(
        "mmopt/language/atoms/function_atoms.py",
        ("sqrt", "sqrt-curvature", "CONCAVE, increasing=True,", "CONVEX, increasing=True,"),
        ("min", "min-curvature", "rule=entry_rules.reduction(CONCAVE)", "rule=entry_rules.reduction(CONVEX)"),
        ("log", "log-curvature", "CONCAVE, increasing=True)", "CONVEX, increasing=True)"),
        (
            "logsumexp",
            "logsumexp-lowering",
            '("nonnegative", 1, outputs, outputs)',
            '("nonnegative", 1, outputs, 0)',
        ),
        (
            "nuclear",
            "nuclear-lowering",
            "cvxpy=lambda cp, a: cp.normNuc(a)",
            'cvxpy=lambda cp, a: cp.norm(a, "fro")',
        ),
        (
            "root",
            "root-balls",
            "ball=ball_functions.root,",
            "ball=lambda a: balls.exact(matrix_functions.root(a.mid)),",
        ),
    ),
    *_laws(
        "mmopt/language/atoms/matrix_rules.py",
        ("inv", "inv-curvature", "CONVEX, holds, why, loewner", "CONCAVE, holds, why, loewner"),
        ("inv", "inv-curvature", "a.psd and a.curvature.is_concave", "a.psd and a.curvature.is_convex"),
        (
            "lambda_max",
            "lambda_max-curvature",
            "(a.loewner and a.curvature.is_convex)",
            "a.curvature.is_convex",
        ),
        ("logdet", "logdet-curvature", "(SCALAR, a, Curvature.CONCAVE", "(SCALAR, a, Curvature.CONVEX"),
        ("length", "norm 2-curvature", "(a.sign > 0 and a.curvature.is_convex", "(a.curvature.is_convex"),
        (
            "lambda_min",
            "lambda_min-value",
            "sign=int(a.psd)), a, Curvature.CONCAVE",
            "sign=1), a, Curvature.CONCAVE",
        ),
        (
            "root",
            "root-curvature",
            "holds = a.curvature.is_concave and (",
            "holds = a.curvature.is_convex and (",
        ),
        ("trace", "trace-value", "(SCALAR, sign=1 if a.psd", "(SCALAR, sign=1 if a.symmetric"),
    ),
    *_laws(
        "mmopt/language/atoms/entry_rules.py",
        ("neg", "neg-curvature", "curvature=-a.curvature, psd=False", "curvature=a.curvature, psd=False"),
        ("neg", "neg-value", "sign=-a.sign, curvature", "sign=a.sign, curvature"),
        (
            "_sum_curvature",
            "add-curvature",
            "curvature for t in curved}) > 1",
            "curvature for t in curved}) > 2",
        ),
        ("_scaled", "mul-curvature", "curvature if factor.sign >", "curvature if factor.sign <"),
        ("_scaled", "mul-curvature", "if factor.sign == 0:", "if factor.sign == 2:"),
        ("div", "div-curvature", "b.loewner or b.sign <= 0:", "b.loewner:"),
        ("power", "pow-curvature", "0 and a.curvature.is_concave", "0 and a.curvature.is_convex"),
        ("power", "pow-value", "sign = 1 if exponent % 2 == 0 or a.sign > 0 else 0", "sign = 1"),
        ("elementwise", "abs-curvature", "True if even and a.sign > 0 else None", "True if even else None"),
        ("soft_max", "logsumexp-value", "sign=max(out.sign, 0)", "sign=out.sign"),
        ("matmul", "matmul-curvature", "curved.loewner or curved.", "curved."),
    ),
    *_rows(
        "mmopt/language/check/infer_types.py",
        "language/check/test_infer_types.py",
        ("_trace", "if not is_gram(factors[at + 1 :] + factors[:at], scope):", "if False:"),
        ("_congruence", ") or not curved.loewner:", "):"),
        ("is_gram", "if odd and not infer(factors[half], scope).psd:", "if False:"),
        ("_block", "not t.curvature.is_affine), None)", "t.why), None)"),
    ),
    *_rows(
        "mmopt/language/check/index_types.py",
        "language/check/test_infer_types.py language/syntax/test_parse_expression.py",
        ("index_type", "if base.loewner:", "if False:"),
        ("index_type", "if base.psd and expr.items[0] == expr.items[-1]", "if base.psd"),
        ("refuse_zeros", "expr.atom not in KEEPS_ZEROS", "False"),
        ("_fits", "_is_never_negative(lowest) and", ""),
    ),
    *_rows(
        "mmopt/language/evaluate/evaluator.py",
        "language/evaluate/test_entries.py",
        ("points", "holds &= HOLDS", "holds |= HOLDS"),
        ("positions", "(at < 0) | (at >= size)", "at < 0"),
    ),
    *_rows(
        "mmopt/compiler/lower.py",
        "language/evaluate/test_entries.py driver/test_student_programs.py",
        ("by_entry", "self.entries(side, at, decided.scope", "self.entries(left, at, decided.scope"),
    ),
    *_rows(
        "mmopt/language/evaluate/evaluate_constraint.py",
        "language/evaluate/test_evaluate_constraint.py",
        ("_magnitude", "return _magnitude(base, env)", "return 0.0"),
        ("cleared", "<= NEARLY_ZERO * np.abs", "<= np.abs"),
    ),
    *_laws(
        "mmopt/numerics/ball_spectra.py",
        ("_eigenvalue", "lambda_max-balls", "norm(sub(m, scaled)) +", "0.0 *"),
        ("log_determinant", "logdet-balls", "above.mid - slack / 2", "above.mid + 1e-9"),
        ("log_determinant", "logdet-balls", "balls.add(diagonal, diagonal)", "diagonal"),
        ("largest_singular_value", "sigma_max-balls", "matmul(wide, transpose(wide))", "matmul(wide, wide)"),
    ),
    *_rows(
        "mmopt/language/atoms/norm_minorants.py",
        "language/atoms/test_minorants.py::test_law[sigma_max]",
        ("_within", "norms.upper <= 1.0, 1.0, norms.mid", "norms.upper <= 1e9, 1.0, norms.mid"),
    ),
    *_rows(
        "mmopt/language/atoms/norm_minorants.py",
        "language/atoms/test_minorants.py::test_law[lambda_max]",
        ("eigenvalue", "np.maximum(values, 0.0)", "np.abs(values) + 1.0"),
    ),
    *_rows(
        "mmopt/language/atoms/norm_minorants.py",
        "language/atoms/test_minorants.py::test_law[logdet]",
        ("logdet", "exact(float(n))", "exact(0.0)"),
    ),
    *_rows(
        "mmopt/language/atoms/norm_minorants.py",
        "language/atoms/test_minorants.py::test_law[huber]",
        ("huber", "most = 2.0 * max", "most = 3.0 * max"),
    ),
    *_rows(
        "mmopt/language/atoms/norm_minorants.py",
        "language/atoms/test_minorants.py::test_law[rel_entropy]",
        ("rel_entropy", "balls.add(ball_functions.log(t), exact(1.0))", "ball_functions.log(t)"),
    ),
    # -- derivatives
    *_laws(
        "mmopt/language/atoms/atom_gradients.py",
        ("inv", "inv-gradients", "(-value.T @ bar @ value.T,)", "(value.T @ bar @ value.T,)"),
        ("div", "div-gradients", "_fit(-bar * value / b, b)", "_fit(bar * value / b, b)"),
        ("polar", "polar-gradients", "(inside - inside.T)", "(inside + inside.T)"),
        (
            "rounded_extreme",
            "min-gradients",
            "return sign * rounding * log_sum_exp",
            "return rounding * log_sum_exp",
        ),
        (
            "root",
            "root-gradients",
            "sums = np.add.outer(roots, roots)",
            "sums = np.add.outer(values, values)",
        ),
    ),
    # -- cones, scaling
    *_rows(
        "mmopt/compiler/lower.py",
        "compiler/test_lower.py",
        ("second_order", "(a + c, 2 * b, a - c)", "(a + c, b, a - c)"),
        ("bounded", "[[f, variable], [variable, i]]", "[[f, variable], [variable, f]]"),
        ("scaled_rows", "self.expr(r.left, scope, env)) <= 1.0", "self.expr(r.left, scope, env)) <= 2.0"),
        ("scaled_rows", "constraint.name] = 1.0 / limits", "constraint.name] = limits"),
        ("trace_inverse", "m = r if is_gram else factor(r @ lt).T", "m = r"),
        ("relation", "else large - small) >> 0", "else small - large) >> 0"),
        ("lower", "and d.name not in implied", "and d.name in implied"),
    ),
    *_rows(
        "mmopt/compiler/lower.py",
        "compiler/test_lower.py::test_values_and_multipliers_come_back_in_the_units_of_the_program[fitness_lmi]",
        ("_corners", "end - sides[-1], end", "0, end"),
    ),
    *_rows(
        "mmopt/language/atoms/atom_cones.py",
        "compiler/test_cones_of_atoms.py",
        ("cones", "means * outputs, means *", "outputs,"),
    ),
    *_rows(
        "mmopt/compiler/scale_numbers.py",
        "compiler/test_scale_numbers.py",
        ("_scaling", "objective / units.factor(degree, scales)", "units.factor(degree, scales) / objective"),
        ("scale", "] / units.factor(degree,", "] * units.factor(degree,"),
    ),
    # -- lifts
    *_rows(
        "mmopt/compiler/reductions/reduction_step.py",
        "compiler/reductions/test_two_ways.py driver/test_reduced.py",
        ("spread", "sizes**-axis.degree", "sizes**axis.degree"),
    ),
    *_rows(
        "mmopt/compiler/reductions/split_by_symmetry.py",
        "compiler/reductions/test_lifts.py",
        ("lift", "lift(v) if isinstance(v, Split | Level)", "lift(v) ** 2 if isinstance(v, Split | Level)"),
    ),
    *_rows(
        "mmopt/compiler/reductions/merge_cells.py",
        "compiler/reductions/test_two_ways.py driver/test_reduced.py",
        ("_by_attribute", "np.logical_and.outer", "np.logical_or.outer"),
    ),
    *_rows(
        "mmopt/compiler/reductions/merge_parallel_queries.py",
        "compiler/reductions/test_two_ways.py driver/test_reduced.py",
        ("_added_up", "weights=workload.weights * lead**2", "weights=workload.weights * np.abs(lead)"),
        ("_left_out", "np.minimum.at(least, same, limit)", "np.maximum.at(least, same, limit)"),
        ("_left_out", "targets[finite] / lead**", "targets[finite] * lead**"),
    ),
    *_rows(
        "mmopt/compiler/reductions/solve_blocks_apart.py",
        "compiler/reductions/test_lifts.py",
        ("lift", "bounds, float(bounds.sum", "bounds, float(bounds.max"),
        ("lift", "factor = scale / size if", "factor = size / scale if"),
    ),
    *_rows(
        "mmopt/compiler/reductions/solve_kronecker_factors.py",
        "compiler/reductions/test_lifts.py",
        ("applies", "weight=1.0 if place else product.weight", "weight=product.weight"),
        ("lift", "bound = math.prod(bounds)", "bound = sum(bounds)"),
    ),
    # -- certificates and repairs
    *_certificates(
        (
            "l2_strategy",
            "certificate",
            "nuclear(W @ diag(sqrt(d)))**2 / sum(d)",
            "nuclear(W @ diag(sqrt(d)))**2 / max(d)",
        ),
        ("l2_strategy", "repair", "X = X / max(diag(X))", "X = X / min(diag(X))"),
        ("l2_strategy_block", "certificate", "diag(sqrt(d))", "diag(d)"),
        ("fitness_for_use", "certificate", "(sum(p) * (c @ q))", "(sum(p) * min(c) * sum(q))"),
        ("fitness_for_use", "repair", "Sigma = Sigma * min(", "Sigma = Sigma * max("),
    ),
    *_rows(
        "programs/fitness_budget.program",
        "testing/test_parameters.py::test_no_multipliers_beat_a_feasible_point[0-fitness_budget]",
        ("certificate", "(budget * sum(p) * sum(q))", "(sum(p) * sum(q))"),
    ),
    *_certificates(
        ("fitness_penalty", "certificate", "2 * nuclear(", "3 * nuclear("),
        ("fitness_hybrid", "certificate", "/ sqrt(sum(p))", "/ sum(p)"),
        ("fitness_dual", "certificate", "2 * sqrt(max(", "sqrt(max("),
    ),
    *_rows(
        "programs/fitness_level.program",
        "testing/test_parameters.py::test_no_multipliers_beat_a_feasible_point[0-fitness_level]",
        ("certificate", "+ (free * p) @ f)", "+ 2 * (free * p) @ f)"),
    ),
    *_certificates(
        ("query_weighting", "certificate", "(D * D) @ mu)))**2 / sum", "abs(D) @ mu)))**2 / sum"),
        ("group_weighting", "certificate", "**2 / sum(mu)", "**2 / max(mu)"),
        ("separate_weighting", "certificate", "/ sum(N, axis=1)", "/ max(N, axis=1)"),
        ("laplace_weighting", "certificate", "**3 / sum(mu)**2", "**3 / sum(mu)"),
        ("design_weighting", "certificate", "* sum(mu))", "* max(mu))"),
        ("weighted_l2", "certificate", "/ sum(d)", "/ max(d)"),
        ("minimax_variance", "certificate", "(sum(q) * sum(d))", "(max(q) * sum(d))"),
        ("user_level_strategy", "certificate", "/ sum(d)", "/ max(d)"),
        ("gamma_2", "certificate", "/ sqrt(sum(q) * sum(d))", "/ sqrt(sum(q) * max(d))"),
        ("gamma_f", "certificate", "/ sqrt(sum(d))", "/ sqrt(max(d))"),
        ("lp_strategy", "certificate", "* sum(v**2))", "* max(v)**2)"),
        ("a_optimal_design", "certificate", "/ max(sum(", "/ min(sum("),
        ("d_optimal_design", "certificate", "- logdet(Y)", "- 2 * logdet(Y)"),
        ("e_optimal_design", "certificate", "max(diag(", "min(diag("),
        ("common_mechanism", "certificate", "/ lambda_min(", "/ lambda_max("),
        ("banded_strategy", "certificate", "sum(near * abs(Y), axis=1)", "diag(Y)"),
        ("low_rank_strategy", "certificate", "- sum(Y**2) / (4 * beta)", "+ sum(Y**2) / (4 * beta)"),
    ),
    *_rows(
        "programs/low_rank_gaussian_strategy.program",
        "testing/test_parameters.py::test_no_multipliers_beat_a_feasible_point[0-low_rank_gaussian_strategy]",
        ("certificate", "- near * sum(T * (T + 2 * S))", "+ near * sum(T * (T + 2 * S))"),
    ),
    *_certificates(
        ("min_sensitivity", "certificate", "max(sqrt(diag(S)))", "sum(sqrt(diag(S)))"),
    ),
    # -- scoring
    *_rows(
        "mmopt/driver/judge/score_point.py",
        "driver/judge/test_score_point.py",
        ("bound_of", "float(ball.lower if minimized else ball.upper)", "float(ball.mid)"),
    ),
    *_rows(
        "mmopt/driver/judge/score_point.py",
        "driver/test_charges.py",
        ("charged", "worth if minimized else -worth", "-worth if minimized else worth"),
        ("scored", "loss += 2 * (max(", "loss -= 2 * (max("),
    ),
    *_rows(
        "mmopt/driver/judge/score_point.py",
        "driver/judge/test_score_point.py::test_negative_multipliers_are_clipped "
        "driver/judge/test_score_point.py::test_a_constraint_may_be_missed_by_rounding_only",
        ("_promised", "maximum(value, 0.0) if d", "abs(value) if d"),
        ("is_feasible", "self.after <= FEASIBLE and", "self.after <= 1e-3 and"),
    ),
    *_rows(
        "mmopt/language/evaluate/evaluate_constraint.py",
        "language/evaluate/test_evaluate_constraint.py",
        ("_over", 'constraint.relation.op == "<', 'constraint.relation.op == ">'),
        ("_over", '(over) if constraint.relation.op == "==', '(over) if constraint.relation.op == "<'),
        ("_off", 'values if relation.op == ">>', 'values if relation.op == "<<'),
        ("_ordered", '(right, left) if op in (">=", ">>")', '(right, left) if op in (">>",)'),
        ("_over_with_errors", "small.upper, small.mid) - low", "small.mid, small.mid) - low"),
        ("_over_with_errors", "return 0.0 if all(map(is_semidefinite, _parts(gap)))", "return 0.0 if True"),
    ),
    *_rows(
        "mmopt/compiler/bind.py",
        "driver/judge/test_score_point.py::test_a_bound_in_lets_is_not_above_the_truth "
        "driver/judge/test_score_point.py::test_queries_beside_the_design_by_more_than_rounding_are_refused",
        ("_bounds", "if name not in lets:", "if True:"),
        ("_missed", "<= left.rad + right.rad).all()", ">= 0).all()"),
    ),
    # -- what is called proved
    *_rows(
        "mmopt/compiler/same_program.py",
        "compiler/test_same_program.py",
        (
            "",
            '("name", "value", *FIELDS_OF_MEANING))',
            '("name", "value", "certificate", *FIELDS_OF_MEANING))',
        ),
        ("", '("name", "value", *FIELDS_OF_MEANING))', '("name", "value", "lets", *FIELDS_OF_MEANING))'),
        ("", '("name", "value", *FIELDS_OF_MEANING))', '("name", "value", "givens", *FIELDS_OF_MEANING))'),
        ("", '("name", "id", "index", "basis")', '("name", "id", "index", "basis", "kind")'),
        (
            "is_shipped",
            "_form(program, meaning) in",
            "_form(program, False) in _shipped_forms(False) or None in",
        ),
    ),
    *_rows(
        "mmopt/compiler/same_program.py",
        "proof/test_verify.py::test_a_program_with_another_field_is_refused",
        ("", '*("starts", "repair"),', '*("starts", "repair", "parameters", "bound"),'),
    ),
    *_rows(
        "mmopt/driver/judge/charge_for_root.py",
        "driver/test_estimated.py",
        ("takes_rounded", "return bool(found) and", "return False and"),
        ("_is_whole", "(workload.queries % 1 == 0).all() and", "True and"),
    ),
    *_rows(
        "mmopt/driver/solve_procedure.py",
        "driver/test_estimated.py",
        ("solve_procedure", "is_shipped(instance.checked)", "True"),
    ),
    *_rows(
        "mmopt/compiler/bind.py",
        "driver/test_estimated.py",
        ("bind", "if not is_shipped(checked):  # of", "if False:  # of"),
    ),
    *_rows(
        "mmopt/language/evaluate/evaluate_constraint.py",
        "driver/test_estimated.py",
        ("_ordered", 'op in ("<<", ">>") and', "True and"),
    ),
    *_rows(
        "mmopt/numerics/balls.py",
        "numerics/test_balls.py",
        ("power", "power(a, neg(b))", "power(a, exact(-exponent))"),
    ),
    *_rows(
        "mmopt/driver/judge/point_meaning.py",
        "driver/judge/test_score_point.py",
        ("within_targets", "1.0 + reach:", "1.0 + SLIGHT:"),
    ),
    *_rows(
        "mmopt/driver/judge/bound_claims.py",
        "driver/judge/test_bound_claims.py",
        ("grade_of", "not is_shipped(instance.checked) or", "False or"),
        ("grade_of", "or _is_replaced(instance)", "or False"),
        ("objective_grade", '"claimed" if _is_replaced(instance) else "proved"', '"proved"'),
        ("refuted", "(BOUND_ROUNDING + CHARGE_OF_MISSED * missed)", "(1e-2 + CHARGE_OF_MISSED * missed)"),
        ("refuted", 'bound - objective if sense == "minimize"', 'bound - objective if sense == "maximize"'),
        ("_judged", "return found if found.is_feasible else None", "return found"),
        ("check_figures", "if _means_error(instance) and objective <", "if objective < 0 and 0 <"),
        ("check_figures", "if refuted(error, error_bound,", "if refuted(0.0, 0.0,"),
    ),
    # -- what verify compares
    *_rows(
        "mmopt/proof/recheck.py",
        "driver/judge/test_bound_claims.py",
        ("_grades", "order.index(a) <= order.index(b)", "order.index(a) >= order.index(b)"),
        ("_grades", 'no_more and s.status.bound_valid <= (found[1] == "proved")', "no_more"),
        ("bound", "elif not is_stop(s.status.stop):", "elif False:"),
        ("bound", 'if grade == "claimed" and bound is not None:', "if False:"),
    ),
    *_rows(
        "mmopt/proof/recheck.py",
        "proof/test_tampered.py::test_every_changed_claim_is_found[l2_strategy]",
        ("close", "<= within * size)", "<= 1e9 * within * size)"),
        ("objective", "value_of(instance, point.env, point.objective)", "s.value"),
        ("bound", 'bound", s.bound, compute', 'bound", s.bound, lambda: s.bound'),
        ("costs", 'bound", s.error_bound, self', 'bound", s.error_bound, lambda: s'),
        ("costs", "s.strategy.rmse(self.workload)", "s.rmse"),
        ("costs", "lambda: charged_error(s.strategy, self.workload)", "lambda: s.error"),
        ("costs", "close(s.sensitivity, sensitivity) and not", "not"),
    ),
    *_rows(
        "mmopt/numerics/split_arrays.py",
        "proof/test_tampered.py::test_every_changed_claim_is_found[fitness_for_use]",
        ("same_array", "return off <= CLOSE_ARRAY", "return off <= 1e9 * CLOSE_ARRAY"),
    ),
    *_rows(
        "mmopt/proof/recheck.py",
        "proof/test_verify.py::test_a_gap_that_was_not_reached_is_found",
        ("bound", "s.gap is not None and s.gap <= tolerance", "s.gap is not None"),
    ),
    *_rows(
        "mmopt/proof/recheck.py",
        "proof/test_verify.py::test_a_program_with_another_field_is_refused",
        ("program", "for name in FIELDS_OF_CLAIMS)", "for name in FIELDS_OF_CLAIMS[:-1])"),
    ),
    *_rows(
        "mmopt/proof/verify.py",
        "proof/test_verify.py::test_of_two_figures_the_one_that_says_less_is_published "
        "proof/test_verify.py::test_a_figure_that_was_not_recomputed_is_not_published",
        ("with_worse", '"bound": down', '"bound": up'),
        ("with_worse", '"error_bound": min', '"error_bound": max'),
        ("with_worse", "again[place + name])", "again.get(place + name, stated))"),
    ),
    *_rows(
        "mmopt/proof/recheck_factored.py",
        "proof/test_recheck_factored.py",
        ("recheck_factored", "<= bound * (1 + SEARCHED) and", "<= 2 * s.error_bound and"),
        ("recheck_factored", "close(s.error, error), ", "True, "),
        ("recheck_factored", "type(s.strategy) is form_of(s.template)", "True"),
    ),
    # -- data
    *_rows(
        "mmopt/data/cell_codes.py",
        "data/test_data_vector.py",
        ("_bin", "[] if math.isinf(edge) else [outside]", "[] if math.isinf(edge) else [0]"),
        ("_bin", "reading.number < _edge(", "reading.number <= _edge("),
        ("_bin", "among(0, len(edges))", "among(0, len(codes) - 2)"),
        ("code_of", "rest = ibis.literal(size + OUTSIDE", "rest = ibis.literal(0"),
        ("code_of", "(reading.missing, size + MISSING)", "(reading.missing, size + OUTSIDE)"),
        (
            "reading_of",
            "blank | number.isnan() if kind.is_floating() or kind.scale is None else blank",
            "blank",
        ),
    ),
    *_rows(
        "mmopt/data/text_file.py",
        "data/test_errors.py data/test_text_file.py",
        ("check_gzip", "while raw.read(2**20):", "while False:"),
        ("csv_header", "if said is not None:", "if False:"),
    ),
    *_rows(
        "mmopt/data/table_file.py",
        "data/test_open_table.py",
        ("TableFile.is_unchanged", "return _stamp(self.path) == self.stamp", "return True"),
        ("_stamp", "status.st_ino, ", ""),
    ),
    *_rows(
        "mmopt/data/column_streams.py",
        "data/test_column_streams.py",
        ("_plain", "isinstance(kind, pa.BaseExtensionType)", "False"),
        ("_pandas", ".reset_index(drop=True)", ".reset_index()"),
    ),
    *_rows(
        "mmopt/data/database_file.py",
        "data/test_database_file.py",
        ("sqlite_batches", "if any(isinstance(value, bytes) for value in column):", "if False:"),
        ("_text", "repr(value)", "str(int(value))"),
    ),
    *_rows(
        "mmopt/data/weight_column.py",
        "data/test_weight_column.py",
        ("weight_fault", "number < 0,", "number < -1,"),
        ("weight_fault", "number > float(MAX_ROWS),", "number > 2.0**62,"),
        ("weight_fault", "exact = column if kind.is_decimal() else number", "exact = number"),
        ("refuse_weights", "if int(rows.sum()) > MAX_ROWS:", "if False:"),
    ),
    *_rows(
        "mmopt/workloads/attribute_uses.py",
        "workloads/test_attribute_uses.py data/test_open_table.py",
        ("attribute_uses", "axis in told", "axis not in told"),
        (
            "attribute_uses",
            '"drop" in (attribute.outside, attribute.missing)',
            '"drop" in (attribute.outside,)',
        ),
    ),
    *_rows(
        "mmopt/data/data_vector.py",
        "data/test_data_vector.py data/test_errors.py",
        ("_filled", "kept &= cells[attribute.name] >= 0", "kept |= cells[attribute.name] >= 0"),
    ),
    *_rows(
        "mmopt/data/person_rows.py",
        "data/test_person_rows.py",
        ("kept_rows", ' & (ranked["rank"] < unit.at_most)', ""),
        ("kept_rows", '"rank"] < unit.at_most', '"rank"] <= unit.at_most'),
        ("kept_rows", 'group_by=["person", "hash_of_person", "has_cell"]', 'group_by=["has_cell"]'),
        ("kept_rows", '["person", "hash_of_person", "has_cell"]', '["person", "hash_of_person"]'),
        ("kept_rows", '["person", "hash_of_person", "has_cell"]', '["person", "has_cell"]'),
        ("kept_rows", '["person", "hash_of_person", *names]', "names"),
        ("refuse_nobody", "if nobody:", "if False:"),
    ),
    *_rows(
        "mmopt/answers/counted_data.py",
        "data/test_person_rows.py",
        (
            "counted_data",
            "part=part, unit=plan.neighbours, **options\n        )",
            "part=part, **options\n        )",
        ),
    ),
    *_rows(
        "mmopt/answers/counted_data.py",
        "answers/test_counted_data.py",
        ("counted_data", "sets=tables, part=part, unit=plan.neighbours,", "sets=tables, part=part,"),
        (
            "counted_data",
            "sets=tables, part=part, unit=plan.neighbours,",
            "sets=tables, unit=plan.neighbours,",
        ),
    ),
    *_rows(
        "mmopt/data/connection.py",
        "data/test_connection.py",
        ("shown_url", 'rest.rpartition("@")', 'rest.partition("@")'),
        ("shown_url", "{user}:***@", "{bare}@"),
    ),
    *_rows(
        "mmopt/errors.py",
        "data/test_connection.py",
        ("without_password", '_PASSWORD.sub(r"\\1:***@", text))', "text)"),
    ),
    *_rows(
        "mmopt/data/row_rules.py",
        "data/test_data_vector.py data/test_errors.py",
        ("targets_of", "MISSING: attribute.missing", "MISSING: attribute.outside"),
    ),
    *_rows(
        "mmopt/data/row_rules.py",
        "data/test_marginal_counts.py data/test_person_rows.py",
        ("dropped_codes", "targets_of(attribute) < 0", "targets_of(attribute) < -1"),
    ),
    *_rows(
        "mmopt/data/marginal_counts.py",
        "data/test_marginal_counts.py",
        ("_in_cells", "if own[code - a.size]]", "if not own[code - a.size]]"),
        ("_beside", "== a.size + beside", "== a.size"),
    ),
    *_rows(
        "mmopt/workloads/query_product.py",
        "workloads/test_attribute_uses.py data/test_open_table.py",
        ("looked_at", "isinstance(factor.plain, Total)", "factor.rows == 1"),
    ),
    # -- what a plan and a strategy say
    *_rows(
        "mmopt/mechanism/noise_for_targets.py",
        "mechanism/test_release_plan.py mechanism/test_noise_for_targets.py",
        ("scale_for_targets", "min(1.0, float(np.min(limits", "min(1.0, float(np.max(limits"),
        ("excess_over_asked", "[] if plan.law.takes_targets else", "[] if True else"),
        ("excess_over_asked", "widths[rows].max())", "widths[rows].min())"),
        ("excess_over_asked", "(1 + 2 * BEYOND)", "(1 + 1e-3)"),
        ("scale_for_targets", "(1 - 2.0**-49)", "(1 + 3 * 2.0**-40)"),
        ("scale_for_targets", "(noise.continuous.variance * integer.variances)", "integer.variances"),
        ("excess_over_asked", "return max(", "return 0.5 * max("),
        ("excess_over_asked", "max([*widths, *", "max([*"),
    ),
    *_rows(
        "mmopt/mechanism/make_plan.py",
        "driver/judge/test_bound_claims.py::test_a_program_says_when_its_sensitivity_is_its_own",
        ("_released", "if solution.own_sensitivity is not None:", "if False:"),
    ),
    *_rows(
        "mmopt/mechanism/make_plan.py",
        "mechanism/test_noise_for_targets.py",
        ("_shrunk", "if excess_over_asked(larger := planned(more)) > 1:", "if False:"),
        ("_shrunk", "while (excess := excess_over_asked(found)) > 1:", "while (excess := 1.0) > 1:"),
        ("_shrunk", "while more < wide < math.inf:", "while False:"),
        ("plan", "        check_cost(found, privacy)", "        pass"),
    ),
    *_rows(
        "mmopt/mechanism/accuracy.py",
        "mechanism/test_accuracy_columns.py mechanism/test_intervals.py",
        ("_query", "(row == np.rint(row)).all()", "(row == np.rint(row)).any() or True"),
        ("_query", "math.floor(width) if is_whole", "math.floor(width) - 1 if is_whole"),
    ),
    *_rows(
        "mmopt/mechanism/accuracy_columns.py",
        "mechanism/test_accuracy_columns.py",
        ("accuracy_figures", "& (meets[rows] | ~is_stricter)", ""),
        ("accuracy_figures", "(widths <= wish.half_width * (1 + 2 * BEYOND))", "(widths > 0)"),
        ("accuracy_figures", "meets = np.square(plan.standard_errors) <= targets", "meets = targets > 0"),
        ("accuracy_figures", "plan.intervals(confidence).widths", "plan.intervals(0.5).widths"),
    ),
    *_rows(
        "mmopt/answers/default_strategy.py",
        "answers/test_default_strategy.py",
        (
            "Offer.cost",
            "np.square(plan.standard_errors) / weights.sum()",
            "plan.standard_errors / weights.sum()",
        ),
        ("Offer.cost", "weights @ np.square", "np.ones_like(weights) @ np.square"),
        ("Offer.cost", "return plan.spent[1]", "return plan.allowed or 0.0"),
        ("default_strategy", "sorted(offers, key=lambda one: one.cost)", "offers"),
        ("_why_not_laplace", "times is None", "False"),
        (
            "_why_not_laplace",
            "LAPLACE.variance(LAPLACE.continuous.scale(privacy, times))",
            "2 * LAPLACE.continuous.scale(privacy, 1.0) ** 2",
        ),
        ("_why_not_laplace", "if least <= best.cost:", "if 2 * least <= best.cost:"),
        ("_why_not_laplace", "least /= best.plan.workload.weights.sum()", "pass"),
        ("default_strategy", "if offers and _is_interrupted(offers[-1]):", "if False:"),
    ),
    *_rows(
        "mmopt/answers/least_budget.py",
        "answers/test_least_budget.py",
        ("_bound", "neighbours.times is None", "False"),
        (
            "_bound",
            "2 * math.asinh(math.sqrt(fitness.bound / 2))",
            "2 * math.asinh(math.sqrt(fitness.bound))",
        ),
        ("_bound", "None if is_wide else", ""),
        ("_bound", "return times**2 * fitness.bound / 2", "return times**2 * fitness.bound"),
        ("_bound", "return bound if bound <= choice.best.cost else None", "return bound"),
        (
            "budget",
            '_plain(fitness.multipliers["accuracy"]) * targeted.targets',
            '_plain(fitness.multipliers["accuracy"])',
        ),
        ("Budget.savings", "(1 + WIDER) ** 2 - 1", "(1 + WIDER) - 1"),
        ("_bound", "return times**2 * fitness.bound / 2 *", "return times**2 * fitness.bound *"),
        ("Budget.savings", "continuous_gaussian_epsilon(math.sqrt(part)", "continuous_gaussian_epsilon(part"),
    ),
    *_rows(
        "mmopt/workloads/query_product.py",
        "workloads/test_query_product.py",
        ("Product", "target = min(target, self.within.variance)", "target = self.within.variance"),
        ("Wish.variance", "(1 + self.confidence) / 2", "self.confidence"),
        ("wishes", "end - block.m, end", "0, block.m"),
    ),
    *_rows(
        "mmopt/mechanism/noise_for_targets.py",
        "mechanism/test_margins.py",
        ("check_cost", "if spent <= plan.allowed:", "if spent <= 2 * plan.allowed:"),
    ),
    *_rows(
        "mmopt/strategies/dense_strategy.py",
        "strategies/test_dense_strategy.py",
        ("sensitivity", "matrix, self.norm).max()", "matrix, self.norm).min()"),
        ("squared_error", "if self.supports(workload) else", "if True else"),
    ),
    *_rows(
        "mmopt/results/solution.py",
        "results/test_solution.py",
        ("relative_gap", "return upper / lower - 1.0", "return 1.0 - lower / upper"),
        ("gap_between", "(upper - lower) / (1.0 if", "(lower - upper) / (1.0 if"),
        ("gap_between", "max(1.0, abs(objective))", "abs(objective)"),
    ),
    # -- symmetries, bounds of templates
    *_rows(
        "mmopt/symmetry/value_swaps.py",
        "symmetry/test_find_symmetries.py symmetry/test_value_swaps.py",
        ("interchangeable", "if by_rows or close:", "if by_rows:"),
        ("_gram", "0.0 if piece.is_whole and scale < EXACT_SUMS", "0.0 if piece.is_whole"),
        ("reverses", "if not (is_near and close):", "if True:"),
        ("_rows_reverse", "return rows.factor.kind in SYMMETRIC", "return rows.factor.kind != 'prefix'"),
        (
            "swapped",
            "matrix[:, v] != matrix[:, w]",
            "matrix[:, v] > matrix[:, w] + 1e-9",
        ),
    ),
    *_rows(
        "mmopt/symmetry/split_totals.py",
        "symmetry/test_find_symmetries.py",
        ("blocks_of", "if len(blocks) > 1:", "if False:"),
    ),
    *_rows(
        "mmopt/driver/templates/every_template.py",
        "driver/templates/test_product_bound.py",
        ("template_bound", "return product_bound(", "return 1.1 * product_bound("),
    ),
    *_rows(
        "mmopt/driver/templates/product_bound.py",
        "driver/templates/test_product_bound.py",
        ("_bound", "norm**2 * (1.0 - CHARGED *", "norm**2 * (1.0 + 1e5 * CHARGED *"),
        ("_split", "np.maximum(np.array(whole) - along, 0.0)", "np.array(whole)"),
        ("_bound", "p / p.sum()", "p"),
    ),
    # -- proofs of failure, components, equivariance, claims of kernels
    *_rows(
        "mmopt/solvers/cone_bounds.py",
        "solvers/test_dual_cones.py",
        ("_inside", "norm * (1.0 + (4.0 + size) * EPS)", "norm * 0.9"),
    ),
    *_rows(
        "mmopt/solvers/cone_bounds.py",
        "solvers/test_cone_bounds.py",
        ("prove", "-b @ y - (4.0", "-b @ y + (4.0"),
        ("_psd", "np.maximum(values, 0.0) + lift", "values + lift"),
    ),
    *_rows(
        "mmopt/language/atoms/component_forms.py",
        "language/atoms/test_component_forms.py",
        ("weighted", ".multiplicities[order]),", ".multiplicities[order] ** 0),"),
        ("total", ".count(_sizes(a.space)),", ".count(_sizes(a.space) ** 0),"),
        ("spread", 'numbers.call("mul", numbers.count(copies), entries)', "entries"),
    ),
    *_rows(
        "mmopt/compiler/scale_numbers.py",
        "compiler/test_scale_numbers.py",
        ("_degree", "return _times(_degree(a, eq), power)", "return _degree(a, eq)"),
        ("_psd_block", "_plus(ends[i], (ends[j], 1.0))", "ends[i]"),
    ),
    *_rows(
        "mmopt/compiler/invariance/under_actions.py",
        "compiler/invariance/test_equivariance.py",
        ("_entrywise", "if not close(axis.degree, 0.0):", "if False:"),
        ("_same", "if not close(a.degree, b.degree):", "if False:"),
        ("_entrywise", "if len(args) == 1 and not atom.even:", "if False:"),
    ),
    *_rows(
        "mmopt/compiler/same_program.py",
        "compiler/test_same_program.py",
        ("_same", "fields(a) if f.compare]", "fields(a) if f.compare and f.name != 'options']"),
        ("_same", "return bool(a == b)", "return True"),
        ("_same_line", "if op != other or not (", "if not ("),
        ("_same_kinds", "if chosen.get(x) != others.get(y):", "if False:"),
    ),
    *_rows(
        "mmopt/numerics/split_arrays.py",
        "language/atoms/test_component_forms.py",
        ("lift", "left[at] @ middle @ right[at].T", "left[at] @ middle @ left[at].T"),
    ),
    *_rows(
        "mmopt/compiler/invariance/composed_workloads.py",
        "compiler/invariance/test_composed_workloads.py",
        ("_read_factors", "not infer(small, scope).sign > 0", "False"),
        ("_factors", "not infer(expr.args[0], scope).sign > 0", "False"),
        ("_read_blocks", "if SUM in sides:", "if False:"),
    ),
    # -- rows of the solvers
    *_rows(
        "mmopt/solvers/table_of_solvers.py",
        "solvers/test_solver_law.py",
        ("SOLVERS", '"qoco", "qoco", SOC,', '"qoco", "qoco", SOC | PSD,'),
        ("SOLVERS", '"cvxopt", "cvxopt", SOC | PSD,', '"cvxopt", "cvxopt", SOC | PSD | CURVED,'),
    ),
    *_rows(
        "mmopt/solvers/conic_solvers.py",
        "solvers/test_solver_law.py",
        ("_clarabel", "options.threads or 0", "0"),
        ("_clarabel", "max(1, options.max_iterations - used)", "50"),
    ),
    *_rows(
        "mmopt/solvers/cvxpy_solvers.py",
        "solvers/test_solver_law.py",
        ("_sdpa", "options.threads or 1", "1"),
        ("_qoco", '"reltol": tolerance, **limit', '"reltol": tolerance'),
    ),
    # -- the problem handed to a solver of one's own, or written into a file
    *_rows(
        "mmopt/solvers/conic_problem.py",
        "exchange/test_export.py",
        ("conic_problem", 'float(handed.inverse[-1]["offset"])', "0.0"),
    ),
    *_rows(
        "mmopt/solvers/function_solver.py",
        "solvers/test_function_solver.py",
        ("_vector", "np.flatnonzero(~np.isfinite(array))", "np.flatnonzero(np.isnan(array) & False)"),
        ("_vector", "found.size != length or ", "found.size < length or "),
    ),
    *_rows(
        "mmopt/solvers/table_of_solvers.py",
        "solvers/test_function_solver.py",
        ("missing_cones", 'needed -= {("second-order", "objective")}', "needed = set()"),
    ),
    *_rows(
        "mmopt/exchange/cbf.py",
        "exchange/test_export.py",
        ("_lines", "2 - place if block.kind", "place if block.kind"),
        ("_lines", "number(1.0 - alpha)", "number(alpha)"),
        ("_lines", "number(sign * problem.offset)", "number(problem.offset)"),
    ),
    *_rows(
        "mmopt/exchange/sdpa.py",
        "exchange/test_export.py",
        ("_diagonal", "2 * row + 1, 2 * row + 1, column, -value", "2 * row + 1, 2 * row + 1, column, value"),
        ("_pair", "((1, 1), -1.0)", "((1, 1), 1.0)"),
        ("_conventions", '"-" if problem.sense', '"" if problem.sense'),
    ),
    *_rows(
        "mmopt/exchange/mps.py",
        "exchange/test_export.py",
        ("_lines", "number(-problem.offset)", "number(problem.offset)"),
        ("_lines", "sp.tril(problem.P)", "problem.P / 2"),
    ),
    *_rows(
        "mmopt/exchange/file_parts.py",
        "exchange/test_export.py",
        ("psd_entries", "value if i == j else _without_root(value)", "value"),
        ("_without_root", "each * ROOT == value", "True"),
    ),
    *_rows(
        "mmopt/proof/certify.py",
        "proof/test_given_point.py",
        ("certify", "if keeps and (as_given", "if not keeps and (as_given"),
    ),
    # -- what a comparison says of a release
    *_rows(
        "mmopt/comparison/predicted_errors.py",
        "comparison/test_predicted_errors.py",
        (
            "predicted",
            "if not noise.takes(stated.privacy):\n            return Predicted(reason=_not",
            "if False:\n            return Predicted(reason=_not",
        ),
        (
            "predicted",
            "plan(workload, strategy, stated.privacy, stated.neighbours)",
            "plan(workload, strategy, stated.privacy)",
        ),
        ("_continuous", "if times is None:", "if False:"),
        ("_of_a_row", "-planned.integer.bits", "0 * planned.integer.bits"),
        ("_of_a_row", "float(deviation) / part.relative", "float(deviation)"),
        ("_cost", "math.sqrt(noise.continuous.variance * ratio)", "math.sqrt(ratio)"),
    ),
    *_rows(
        "mmopt/report/ranking_tables.py",
        "report/test_comparison_tables.py",
        ("ranking_table", "figure(place.rmse, 4, up=True)", "figure(place.rmse, 4)"),
        ("ranking_table", "figure(place.cost, 4, up=True)", "figure(place.cost, 4)"),
    ),
    # -- refined answers: the counts nearest, the rounding that adds up, what a folder says of them
    *_rows(
        "programs/refine_counts.program",
        "answers/test_refined_answers.py::test_no_multipliers_of_known_answers_prove_too_much",
        ("certificate", "@ y - (known * (b - a))", "@ y + (known * (b - a))"),
        ("certificate", "- r @ r - e * known", "- r @ r / 2 - e * known"),
        ("certificate", "(a + b) + most * min(0, min(2", "(a + b) + min(0, min(2"),
    ),
    *_rows(
        "mmopt/answers/nearest_counts.py",
        "answers/test_refined_answers.py",
        ("most", "(np.sqrt(level) +", "(0 * np.sqrt(level) -"),
        ("most", "> ROOM / 1000", "> 1e300"),
        ("nearest_counts", "totals - sums @ base", "totals"),
        ("_polished", "slopes + sums.T @ nu)", "slopes)"),
    ),
    *_rows(
        "mmopt/answers/refined_answers.py",
        "answers/test_refined_answers.py",
        ("_refined", "matrix / errors[:, None], estimates / errors", "matrix, estimates"),
        ("_refuse_parts", "(queries != np.rint(queries))", "(queries != queries)"),
        ("refine", "with deadline(time_limit):", "with deadline(None):"),
    ),
    *_rows(
        "mmopt/answers/whole_counts.py",
        "answers/test_whole_counts.py",
        ("_enter", "in (0, own, one)", "in (0, own, one, own & one)"),
        ("whole_counts", "high - start", "high - start + 1"),
        ("whole_counts", '"mip_rel_gap": 0.0', '"mip_rel_gap": 0.5'),
        ("whole_counts", "1.0 - 2.0 * (counts - least)", "2.0 * (counts - least) - 1.0"),
        ("whole_counts", "LinearConstraint(sums, rest, rest)", "LinearConstraint(sums, rest - 1, rest)"),
    ),
    *_rows(
        "mmopt/answers/read_folder.py",
        "answers/test_refined_answers.py",
        ("read_answers", '(*GUARANTEE, "refined")', "GUARANTEE"),
    ),
    *_rows(
        "mmopt/compiler/duality/nodes.py",
        "driver/test_derived.py::test_a_line_with_a_condition_whose_sides_are_found_otherwise",
        (
            "read_entries",
            "tuple(one.items())) for one in at.envs)",
            "tuple(at.envs[0].items())) for one in at.envs)",
        ),
    ),
    # -- what must not be published says so
    *_rows(
        "mmopt/report/displays.py",
        "answers/test_release_result.py",
        ("", 'WARNINGS = ("not private", "warning")', 'WARNINGS = ("warning",)'),
    ),
    *_rows(
        "mmopt/driver/other_method.py",
        "driver/test_other_method.py",
        ("nearer", "last.stop not in (Stop.REACHED, Stop.INTERRUPTED)", "False"),
        ("nearer", "        options=options,\n", ""),
    ),
    # -- what is certified, and what is a solver's own count
    *_rows(
        "mmopt/driver/run_solver.py",
        "driver/test_history.py",
        ("run_solver", "row(before, certified=False)", "row(before, certified=True)"),
        (
            "iteration",
            "            return None\n        return Iteration(",
            "            pass\n        return Iteration(",
        ),
    ),
    *_rows(
        "mmopt/solvers/solver_protocol.py",
        "solvers/test_printed_output.py",
        ("placed", "sign * (v + offset)", "sign * (v - offset)"),
    ),
    *_rows(
        "mmopt/report/descents.py",
        "report/test_descents.py",
        ("_own", "max(abs(gap), *residuals, 0.0)", "max(abs(gap), 0.0)"),
        ("_descent", 'for row in rows if not row["certified"]', "for row in rows"),
    ),
    # -- the benchmark's proved optima
    *_rows(
        "examples/benchmark/exact_cones.py",
        "examples/test_benchmark_proof.py",
        ("definite", "elif not value > 0:", "elif value < 0:"),
        ("_is_positive", "all(v > 0 for v in s)", "all(not v < 0 for v in s)"),
        ("_is_second_order", "s[0] > 0 and _room(s) > 0", "_room(s) > 0"),
        ("_is_exponential", "y * (t / y).log() - x > 0", "y * (t / y).log() - x > -1"),
        ("_is_exponential_dual", "(b / c - 1).exp()", "(b / c - 2).exp()"),
    ),
    *_rows(
        "examples/benchmark/proved_optimum.py",
        "examples/test_benchmark_proof.py",
        ("follow", "else (-upper, -lower)", "else (lower, upper)"),
        ("proved", "            lower -= cone.constant(y)", "            lower += cone.constant(y)"),
        ("proved", "lower -= cone.constant(v[at : at + cone.size])", "lower -= 0"),
    ),
    *_rows(
        "examples/benchmark/proved_interval.py",
        "examples/test_benchmark_proof.py",
        ("decimal", "scaled.ceil() if up else scaled.floor()", "scaled.floor()"),
        ("decimal", "value.upper() if up else value.lower()", "value.mid()"),
    ),
    *_rows(
        "examples/benchmark/cbf_file.py",
        "examples/test_benchmark_proof.py",
        (
            "_number",
            'arb(fmpq(int(f"{whole}{part}") * 10 ** max(power, 0), 10 ** max(-power, 0)))',
            "arb(float(text))",
        ),
    ),
    *_rows(
        "examples/benchmark/measured_solve.py",
        "examples/test_benchmark_aggregates.py",
        ("_distance", 'if sense == "minimize" else optimum - objective', "if True else optimum - objective"),
        ("_distance", "min(objective, optimum) > 0", "min(objective, optimum) > -9e9"),
    ),
    *_rows(
        "mmopt/compiler/to_cones.py",
        "driver/test_student_programs.py",
        ("_together", "if dims != (family.dim,):", "if False:"),
    ),
    # -- what has no value, or next to none
    *_rows(
        "mmopt/language/evaluate/undefined_parts.py",
        "language/evaluate/test_undefined_parts.py",
        ("_may_be", "and part.atom in OF_PART and", 'and part.atom == "sqrt" and'),
        ("undefined", "seen.extend(", "list("),
    ),
    *_rows(
        "mmopt/driver/judge/violations.py",
        "driver/judge/test_violations.py",
        ("_of_line", "    if words:", "    if False:"),
    ),
    *_rows(
        "mmopt/driver/judge/score_point.py",
        "driver/judge/test_violations.py",
        ("scored", "if finite and not undefined_objective(instance, env):", "if finite:"),
    ),
    *_rows(
        "mmopt/language/evaluate/evaluate_constraint.py",
        "language/evaluate/test_evaluate_constraint.py",
        ("_over_with_errors", "np.maximum(found, SMALLEST)", "found"),
    ),
    *_rows(
        "mmopt/numerics/matrix_functions.py",
        "numerics/test_matrix_functions.py",
        ("length", "    if np.all(found > LEAST_LENGTH):", "    if True:"),
    ),
    *_rows(
        "mmopt/compiler/duality/intervals.py",
        "compiler/duality/test_intervals.py",
        ("_size", "np.where(np.isfinite(end), np.abs(end), 0.0)", "np.zeros(np.shape(end))"),
        ("others", "for end in (terms.high, terms.low)", "for end in (terms.low, terms.high)"),
        ("total", "_size(a.low), _size(a.high))", "_size(a.high), _size(a.low))"),
    ),
    *_rows(
        "mmopt/driver/diagnosis/advice_on_conflicts.py",
        "driver/diagnosis/test_advice_on_conflicts.py",
        ("infeasible", "if proof.radius <= _largest(instance) else", "if False else"),
        ("_reach", "up=False", "up=True"),
    ),
    # -- bounds read off the lines
    *_rows(
        "mmopt/compiler/duality/lagrangian.py",
        "compiler/duality/test_lagrangian.py::test_the_reading_is_tangent_to_the_lagrangian[2] "
        "compiler/duality/test_lagrangian.py::test_the_reading_is_tangent_to_the_lagrangian[7] "
        "compiler/duality/test_lagrangian.py::test_the_reading_is_tangent_to_the_lagrangian[12] "
        "compiler/duality/test_lagrangian.py::test_the_reading_is_tangent_to_the_lagrangian[19]",
        ("inside", 'told if one.op == "==" else np.maximum(told, 0.0)', "told"),
        ("_psd", "        if ball_functions.is_semidefinite(exact(y)):", "        if True:"),
        ("start", "* (1.0 if i == j else 2.0)", "* 1.0"),
        ("start", 'if one.op in (">=", ">>") else 1.0', 'if one.op == ">>" else 1.0'),
        ("hand", "known is None else balls.add(known, bar)", "known is None else bar"),
    ),
    *_rows(
        "mmopt/driver/judge/derived_bound.py",
        "driver/test_derived.py::test_any_multipliers_and_slopes_prove_a_bound",
        ("_least", "if eigenvalue >= 0.0:", "if True:"),
        ("_by_entries", "np.minimum.reduce(ends)", "np.maximum.reduce(ends)"),
    ),
    *_rows(
        "mmopt/driver/judge/derived_bound.py",
        "driver/test_derived.py",
        ("derived", "value = min(value, self.level)", "value = value"),
        ("reader", '"proved" if (is_known or is_charged) and not doubtful else "estimated"', '"proved"'),
        ("derived", "np.shape(y) == shapes.get(name)", "True"),
    ),
    *_rows(
        "mmopt/driver/judge/charge_for_root.py",
        "driver/test_derived.py::test_rounded_queries_are_charged",
        ("names_with_errors", "off / (1 - off) * _length(rows) * GROW", "0.0 * off"),
        ("names_with_errors", "            touched.add(let.name)", "            pass"),
    ),
    *_rows(
        "mmopt/compiler/duality/ranges.py",
        "compiler/duality/test_ranges.py::test_ranges_hold_every_feasible_point "
        "driver/test_derived.py::test_bounds_are_near_the_optimum",
        (
            "minors",
            "np.sqrt(np.maximum(np.diagonal(known.high), 0.0))",
            "0.1 * np.sqrt(np.diagonal(known.high))",
        ),
    ),
    *_rows(
        "mmopt/compiler/duality/level_cuts.py",
        "compiler/duality/test_ranges.py::test_cuts_hold_every_point_up_to_the_level",
        ("ranges_by_cuts", "radius = max(radius, max(room", "radius = min(radius, max(room"),
        ("cut", "least(found, names) + float(here.lower)", "level - 1e-9"),
    ),
    *_rows(
        "mmopt/proof/recheck.py",
        "driver/test_derived.py",
        ("derived", "lambda: found.bound, holds,", "lambda: s.derived_bound, holds,"),
        ("derived", "s.derived_grade == found.grade or", "True or"),
    ),
    *_rows(
        "mmopt/language/atoms/minorants.py",
        "language/atoms/test_minorants.py::test_law[abs] "
        "language/atoms/test_minorants.py::test_law[nuclear] "
        "language/atoms/test_minorants.py::test_law[pow] "
        "language/atoms/test_minorants.py::test_law[max]",
        (
            "absolute",
            "np.sign(np.nan_to_num(near.points[0]))), -1.0, 1.0)",
            "np.sign(np.nan_to_num(near.points[0]))), -9.0, 9.0)",
        ),
        ("power", "np.inf if is_even and near.signs[0] <= 0 else", "np.inf if is_even else"),
        ("_shares", "balls.div(exact(shares), spread(sums, axis))", "exact(shares)"),
    ),
    *_rows(
        "mmopt/language/atoms/matrix_minorants.py",
        "language/atoms/test_minorants.py::test_law[nuclear]",
        ("_contraction", "if largest <= 1.0 else", "if True else"),
    ),
    *_rows(
        "mmopt/compiler/duality/intervals.py",
        "compiler/duality/test_ranges.py::test_ranges_hold_every_feasible_point "
        "driver/test_derived.py::test_bounds_are_near_the_optimum",
        ("solved", "most = np.abs(inverse) @", "most = 0.1 * np.abs(inverse) @"),
    ),
    *_rows(
        "mmopt/driver/judge/derived_bound.py",
        "driver/test_derived.py::test_what_is_given_as_psd_has_to_be_proved_so_for_a_proved_bound",
        ("reader", "and not doubtful else", "else"),
        ("_not_proved_psd", "d.name in instance.own or not d.source", "False"),
    ),
    *_rows(
        "mmopt/driver/solve_convex.py",
        "driver/test_derived.py::test_a_gap_above_what_was_asked_is_said",
        ("_stop_with", "if gap <= asked:", "if True:"),
    ),
    *_rows(
        "mmopt/driver/judge/score_point.py",
        "driver/judge/test_lines_nearby.py::test_no_point_of_a_shipped_program_is_moved",
        ("candidate", '!= "convex" or is_shipped(instance.checked):', '!= "convex":'),
    ),
    *_rows(
        "mmopt/driver/judge/restored_lines.py",
        "driver/judge/test_lines_nearby.py",
        ("_pulled_in", "> MOST_MOVED * _size(", "> 1e9 * _size("),
        ("_pulled_in", "else INSIDE *", "else -INSIDE *"),
    ),
    *_rows(
        "mmopt/driver/judge/derived_bound.py",
        "driver/test_derived.py::test_so_has_a_parameter",
        ("_not_proved_psd", "(*program.givens, *parameters)", "program.givens"),
    ),
    *_rows(
        "mmopt/compiler/bind.py",
        "compiler/test_bind.py",
        ("_fault", 'd.kind in ("psd", "symmetric") and (off', 'd.kind == "psd" and (off'),
        ("_fitted", "array = symmetric_part(array)", "pass"),
        ("_parameter", ".sign < 0:", ".sign < -9:"),
    ),
    *_rows(
        "mmopt/numerics/arrays.py",
        "compiler/test_bind.py",
        ("asymmetry", "<= within * np.abs(matrix).max()", "<= 1.0"),
    ),
    *_rows(
        "mmopt/driver/judge/score_point.py",
        "proof/test_given_point.py::test_rounding_of_a_point_is_its_symmetric_part",
        ("scored", "for name in matrices}", "for name in ()}"),
    ),
    *_rows(
        "mmopt/proof/given_point.py",
        "proof/test_given_point.py::test_a_point_that_is_not_symmetric_is_refused",
        ("given_point", "if off := asymmetric(instance, values):", "if off := '':"),
    ),
    *_rows(
        "mmopt/proof/recheck.py",
        "proof/test_tampered.py::test_a_matrix_that_was_made_asymmetric_is_found",
        ("point", "if off := asymmetric(instance, s.variables):", "if off := '':"),
    ),
    *_rows(
        "mmopt/driver/judge/bound_claims.py",
        "driver/judge/test_bound_claims.py::"
        "test_an_objective_below_a_derived_bound_is_refused_without_a_section_to_name",
        ("check_figures", "if program.certificate is None and not program.bound:", "if False:"),
    ),
    # -- spaces of queries of few attributes
    *_rows(
        "mmopt/sectors/bounds/moment_roots.py",
        "sectors/bounds/test_moment_roots.py",
        ("root_of_moments", "wrong = (off + norm", "wrong = (0 * off + norm"),
    ),
    *_rows(
        "mmopt/sectors/bounds/rational_root.py",
        "sectors/bounds/test_bound_of_large.py",
        ("rational_root", "/ (1 + epsilon) *", "* (1 + epsilon) *"),
        ("rational_root", "slope = float(", "slope = 1.1 * float("),
    ),
    *_rows(
        "mmopt/sectors/bounds/pinched_bound.py",
        "sectors/bounds/test_pinched_bound.py",
        (
            "_splittings",
            "singular = scipy.linalg.svd(inside - np.multiply.outer(u, u @ inside)",
            "singular = scipy.linalg.svd(inside",
        ),
        ("_sum", "math.fsum(map(math.sqrt, squares.values()))", "math.sqrt(math.fsum(squares.values()))"),
    ),
    *_rows(
        "mmopt/sectors/plain/plain_space.py",
        "sectors/plain/test_plain_space.py",
        ("tables_rounding", "return 2.0 * count * EPS * longest", "return 0.0 * longest"),
        ("moments_rounding", "basis *= 1.0 + math.sqrt(len(self.bases))", "basis *= 0.0"),
        (
            "plain_space",
            "rounding = 1.01 * (max(own.rounding for own in asked) + max(losses))",
            "rounding = 0.0",
        ),
        ("rest_square", "return math.prod(float(self.bases[i].squares[o]) for", "return math.prod(1.0 for"),
    ),
    *_rows(
        "mmopt/sectors/plain/functions_of_few.py",
        "sectors/plain/test_plain_space.py",
        ("copies", "int(bases[i].sizes[o]) - 1", "int(bases[i].sizes[o])"),
    ),
    *_rows(
        "mmopt/sectors/plain/sector_roots.py",
        "sectors/plain/test_plain_space.py",
        ("_eliminated", "triangle[width:, width:]", "triangle[width:, width:] * 0.999"),
        ("_product_rows", "scale = product.scale * math.prod(", "scale = math.prod("),
    ),
    *_rows(
        "mmopt/sectors/measured/asked_queries.py",
        "sectors/measured/test_asked_queries.py",
        ("_FactorOrbits.of", "np.sqrt(orbits.targets / basis.size)", "np.sqrt(1.0 / basis.size)"),
        (
            "_FactorOrbits.of",
            "{int(parts[k].labels[0]): scale * own[:, 0]",
            "{int(parts[k].labels[0]): own[:, 0]",
        ),
        ("_plain", "if is_swapped and not", "if False and not"),
        ("_plain", "return parts, np.concatenate(counts)", "return parts, np.concatenate(counts) ** 0.5"),
    ),
    *_rows(
        "mmopt/sectors/residual/residual_spaces.py",
        "sectors/residual/test_residual_spaces.py",
        ("strategy_at", "math.sqrt(error) / total", "error / total**2"),
        ("lengths", "np.full(len(cells), space.share)", "np.full(len(cells), 1.0)"),
    ),
    *_rows(
        "mmopt/sectors/residual/residual_bases.py",
        "sectors/residual/test_residual_bases.py",
        ("_cost", "slope = -2 *", "slope = 2 *"),
        ("slopes_of_error", "product.weight / space.share", "product.weight"),
    ),
    *_rows(
        "mmopt/privacy/rounding/integer_sectors.py",
        "privacy/rounding/test_integer_sectors.py",
        ("_squared", "bound_by_column(core.largest_square,", "bound_by_column(core.largest_square // 2,"),
    ),
    *_rows(
        "mmopt/sectors/plain/moments_rounding.py",
        "sectors/bounds/test_moment_roots.py",
        ("products_rounding", "one = max(sums)", "one = 0 * max(sums)"),
        ("basis_rounding", "2 * (off + lost)", "2 * lost"),
        ("component_rounding", "products * trace / (1.0 - products) +", ""),
        ("component_rounding", "np.expm1(2 * order * np.log1p(basis)) * norm", "0.0"),
    ),
    *_rows(
        "mmopt/sectors/largest/largest_length.py",
        "sectors/largest/test_largest_length.py",
        ("largest_of_tables", "max(upper, value + own.slack)", "max(upper, value - own.slack)"),
        ("largest_of_tables", "float(bound) + slack", "float(bound) - slack"),
        ("largest_of_tables", "upper = max(upper, most)", "pass"),
        ("largest_of_tables", "*(-parts[0].below for _ in parts[:1])", "*()"),
    ),
    *_rows(
        "mmopt/sectors/largest/table_sums.py",
        "sectors/largest/test_largest_length.py",
        ("tables_of", "constant, rounding + lost", "constant, lost"),
        ("spread", "tables.arrays[axes] / len(others)", "tables.arrays[axes]"),
        ("slack", "(self.lost + gamma(len(self.arrays) + 4) * size)", "0.0"),
        ("fixed", "array.take(value, axis", "array.take(0, axis"),
        ("uppers", "array.max(axis=others)", "array.min(axis=others)"),
    ),
    *_rows(
        "mmopt/sectors/largest/shifted_tables.py",
        "sectors/largest/test_largest_length.py",
        ("_levelled", "change = mean - found", "change = mean - 0.999 * found"),
        ("shifted", "lost += _levelled", "lost += 0 * _levelled"),
    ),
    *_rows(
        "mmopt/sectors/largest/table_elimination.py",
        "sectors/largest/test_largest_length.py",
        ("largest_by_elimination", ".max(axis=0)", ".min(axis=0)"),
        ("_joined", "found[axes] + array if axes in found else array", "array"),
    ),
    *_rows(
        "mmopt/sectors/sector_cells.py",
        "sectors/test_sector_cells.py",
        ("_from", "(factor * upper + off) * (1 + 4 * EPS)", "factor * upper"),
    ),
    *_rows(
        "mmopt/language/atoms/spanned_forms.py",
        "language/atoms/test_spanned_forms.py",
        ("_largest", "high += wide * cells.longest * (1 + 1e-9) if wide else 0.0", "pass"),
        ("_widened", "part.rad + off * lengths", "part.rad"),
    ),
    *_rows(
        "mmopt/sectors/measured/asked_queries.py",
        "driver/test_sectors.py::test_the_largest_variance_is_what_it_is_densely",
        ("matrix_of", "1.0 / np.sqrt(found[2])", "np.ones(len(found[2]))"),
    ),
    *_rows(
        "mmopt/sectors/measured/sector_layout.py",
        "sectors/measured/test_sector_layout.py",
        ("asked", "4 * (entries.shape[1] + 8) * EPS", "1e-9"),
    ),
    # -- the row space of equal attributes
    *_rows(
        "mmopt/sectors/equal/kinds_of_products.py",
        "sectors/equal/test_kinds_of_products.py",
        ("_times_everywhere", "len(found) == choices and ", ""),
        ("_times_everywhere", "set(found.values()) == {often}", "True"),
        ("kinds_of_products", "None if _some_swap(workload) else tuple(kinds)", "tuple(kinds)"),
        ("kinds_of_products", "places.setdefault((which, product.weight)", "places.setdefault((which, 1.0)"),
        ("_choices", "(2 if which[0] == which[1] else 1)", "2"),
    ),
    *_rows(
        "mmopt/sectors/equal/sampled_values.py",
        "sectors/equal/test_sampled_values.py",
        ("law_of_product", "symmetric(law) / math.perm(k, places)", "law / math.perm(k, places)"),
        ("_partitions", "(abs(often) if absolute else often, shape)", "(often, shape)"),
    ),
    *_rows(
        "mmopt/sectors/equal/pair_coordinates.py",
        "sectors/equal/test_equal_attributes.py",
        ("_coefficients", "return (3.0 - k, k - 4.0, 1.0)", "return (3.0 - k, k - 3.0, 1.0)"),
        ("_coefficients", "return (0.0, math.sqrt(k * (k - 2)))", "return (0.0, math.sqrt(k * (k - 1)))"),
        ("function", "found += component.multiplicity * magnitude(factor)", "found += magnitude(factor)"),
    ),
    *_rows(
        "mmopt/sectors/equal/pair_queries.py",
        "sectors/equal/test_equal_attributes.py",
        ("_rows", "half = math.sqrt(0.5) if symmetric", "half = 1.0 if symmetric"),
        ("_rows", "math.sqrt(k / 2) * (alpha - beta)", "math.sqrt(k / 2) * (alpha + beta)"),
    ),
    *_rows(
        "mmopt/sectors/equal/equal_attributes.py",
        "sectors/equal/test_equal_attributes.py",
        (
            "_roundings",
            "return tuple(1.01 * float(relative + all_steps",
            "return tuple(1e-6 * float(relative + all_steps",
        ),
        ("means", "(1.0 - share) * whole[:, None]", "share * whole[:, None]"),
    ),
    *_rows(
        "mmopt/sectors/equal/count_form.py",
        "sectors/equal/test_count_form.py sectors/equal/test_largest_by_counts.py",
        ("_form", "(often if signed else abs(often))", "abs(often)"),
        ("_form", "/ float(attributes) ** lacking", ""),
    ),
    *_rows(
        "mmopt/sectors/equal/largest_by_counts.py",
        "sectors/equal/test_largest_by_counts.py",
        (
            "_enumerated",
            "return _Found(best, value, float(np.nextafter(value + off, np.inf)))",
            "return _Found(best, value, value)",
        ),
        ("largest_by_counts", "    if total == form.total:", "    if True:"),
    ),
    *_rows(
        "mmopt/sectors/equal/count_halves.py",
        "sectors/equal/test_largest_by_counts.py",
        ("_coefficients", " * math.comb(form.degree, j)", ""),
        ("value_blocks", "range(form.total + 1)", "range(form.total)"),
    ),
    *_rows(
        "mmopt/sectors/equal/cut_densities.py",
        "sectors/equal/test_cut_densities.py",
        ("law_of_cut", "np.maximum(values, 0.0)", "np.abs(values)"),
        ("law_of_cut", "if y is not known", "if known is None"),
    ),
    *_rows(
        "mmopt/sectors/equal/count_profiles.py",
        "sectors/equal/test_count_profiles.py",
        ("scales", "for a in set(own) - {0}", "for a in set(own)"),
        ("law", "coordinates * self.scales", "coordinates / self.scales"),
    ),
    # -- what is said of private data
    *_rows(
        "mmopt/report/page.py",
        "report/test_page.py::test_a_release_has_its_answers_and_says_what_is_private",
        ("_about", 'elif c.manifest["private"]:', "elif c.manifest:"),
    ),
    *_rows(
        "mmopt/cli/commands/init.py",
        "cli/commands/test_init.py::test_a_draft_depends_on_no_row",
        ("init", "    if public:\n        given |=", "    if True:\n        given |="),
    ),
)
