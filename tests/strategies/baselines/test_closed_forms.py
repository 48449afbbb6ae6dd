"""PODS 2010, section 6: sensitivities and errors of hierarchy and wavelet, from their eigenvalues."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from strategies.asked import line
from tolerances import ROUNDING

from mmopt import Workload
from mmopt.strategies.baselines import baseline, evaluate
from mmopt.workloads.blocks import factor_blocks as f

pytestmark = pytest.mark.quick

KINDS = {"prefix": f.prefix, "all ranges": f.all_range}


def energies(n: int, kind: str) -> list[tuple[int, Fraction]]:
    """(eigenvalue of YᵀY, tr(G P) of its eigenspace P), the total first, then by half h of the blocks.

    The eigenvectors are the wavelet's rows (Theorem F.45). t_k, the row's sum over cells 1 to k, is k for
    the total, and 0, 1, …, h, h - 1, …, 0 on the block of a difference. Prefixes have Σ t², and ranges, as
    differences of the n + 1 prefixes from 0 to n, have (n + 1) Σ t² - (Σ t)².
    """
    found = []
    whole = [(n, 1, Fraction(n * (n + 1) * (2 * n + 1), 6), Fraction(n * (n + 1), 2))]
    halves = [n >> level for level in range(1, n.bit_length())]
    parts = [(2 * h, n // (2 * h), Fraction(2 * h**3 + h, 3), Fraction(h * h)) for h in halves]
    for value, count, squares, total in whole + parts:
        one = squares if kind == "prefix" else (n + 1) * squares - total**2
        found.append((value, count * one / value))  # ‖row‖² is the eigenvalue
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("levels", range(8))
def test_errors_are_rational_numbers(levels: int, kind: str) -> None:
    """The hierarchy's eigenvalues are the wavelet's less one, and 2n - 1 for the total."""
    n = 2**levels
    parts = energies(n, kind)
    wavelet = sum(energy / value for value, energy in parts)
    tree = parts[0][1] / (2 * n - 1) + sum(energy / (value - 1) for value, energy in parts[1:])
    workload = line(KINDS[kind](n))
    for norm in (1, 2):
        for name, squared in (("wavelet", wavelet), ("hierarchical(branching=2)", tree)):
            (cost,) = evaluate(name, workload, (norm,)).costs
            assert cost.sensitivity**norm == pytest.approx(1 + levels, rel=ROUNDING)
            exact = float((1 + levels) ** (2 // norm) * squared)
            assert cost.error == pytest.approx(exact, rel=10 * ROUNDING)
        (cost,) = evaluate("identity", workload, (norm,)).costs
        assert cost.error == sum(energy for _, energy in parts)


@pytest.mark.parametrize("levels", range(1, 12))
def test_hierarchy_against_wavelet_in_total(levels: int) -> None:
    """Theorem 6.30 has the same order for both; their ratio on all ranges and on prefixes, exactly."""
    n = 2**levels
    ratio = {}
    for kind in KINDS:
        parts = energies(n, kind)
        wavelet = sum(energy / value for value, energy in parts)
        tree = parts[0][1] / (2 * n - 1) + sum(energy / (value - 1) for value, energy in parts[1:])
        ratio[kind] = float(tree / wavelet)
    assert 1 <= ratio["all ranges"] < 1.28  # the wavelet is never worse in total
    assert 0.88 < ratio["prefix"] < 1.0112 and (ratio["prefix"] < 1) == (n <= 16)


@pytest.mark.parametrize("n", [2, 8, 64])
def test_theorem_6_29_on_every_query(n: int, rng: np.random.Generator) -> None:
    """Between n / (2n - 1) and 2 for each query: ½ is never reached, 2 by one cell less the next."""
    rows = np.vstack([np.ones(n), [1, -1, *[0] * (n - 2)], rng.normal(size=(40, n))])
    workload = Workload.from_matrix(np.vstack([f.all_range(n).matrix(), rows]))
    tree, wavelet = (baseline(name, workload).variances(workload) for name in ("hierarchy", "haar"))
    ratio = tree / wavelet
    assert ratio.min() == pytest.approx(n / (2 * n - 1), rel=ROUNDING * n)
    assert ratio.max() == pytest.approx(2.0, rel=ROUNDING * n)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 9, 13, 31, 33])
def test_sensitivities_of_any_number_of_cells(n: int) -> None:
    workload = line(f.identity(n))
    for branching in (2, 3, 8):
        depth = next(d for d in range(n) if branching**d >= n)
        name = f"hierarchical(branching={branching}"
        assert baseline(f"{name})", workload, 1).sensitivity == 1 + depth
        assert baseline(f"{name}, root=False)", workload, 1).sensitivity == max(depth, 1)
    depth = (n - 1).bit_length()
    assert baseline("wavelet", workload, 1).sensitivity == 1 + depth
    assert baseline("wavelet", workload, 2).sensitivity ** 2 == pytest.approx(1 + depth, rel=ROUNDING)
