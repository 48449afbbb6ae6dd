"""Strategies in factors as files: they come back equal, and what is no such file is refused.

Guards status_grade_and_verification.py, solution.py.
"""

import dataclasses

import numpy as np
import pytest

from mmopt.driver.templates import TEMPLATES, templates
from mmopt.errors import ResultError
from mmopt.mechanism import plan
from mmopt.report.solution_and_comparison_tables import solution_rows
from mmopt.results import Solution
from mmopt.results.saved_fields import pack, write_npz
from mmopt.workloads import Attribute, Domain, Product, Workload
from mmopt.workloads.factors_and_products import identity, prefix, total

DOMAIN = Domain(tuple(Attribute(name, tuple(map(str, range(n)))) for name, n in (("a", 3), ("b", 4))))
W = Workload.from_products(
    DOMAIN, [Product((identity(3), total(4)), "a"), Product((total(3), prefix(4)), "b", weight=2.0)]
)
MADE = [(name, norm) for name, template in TEMPLATES.items() for norm in template.norms]


def test_saved_and_loaded_equal(subtests, tmp_path):
    for name, norm in MADE:
        with subtests.test(f"{name} {norm}"):
            solution = templates(W, norm, [name]).solution(W)
            path = solution.save(tmp_path / f"{name}{norm}")
            assert path.name == f"{name}{norm}.npz"
            found = Solution.load(path)
            assert found == solution
            assert type(found.strategy) is type(solution.strategy)
            assert found.strategy.norm == solution.strategy.norm
            assert found.strategy.sensitivity == solution.strategy.sensitivity
            np.testing.assert_array_equal(found.strategy.variances(W), solution.strategy.variances(W))
            assert found != dataclasses.replace(solution, error=2.0) and found != 1
            # A file of version 0.1.0 calls the bound on the error of every strategy 'bound'.
            record, arrays = pack(solution.fields())
            record["bound"] = record.pop("error_bound")
            assert Solution.load(write_npz(record, arrays, tmp_path / "old.npz")) == solution


def test_texts():
    found = templates(W, 2, ["product"]).solution(W)
    names = ["template", "strategy", "total error", "error bound", "error gap", "rmse"]
    assert [name for name, _ in found.rows()] == names
    assert repr(found).startswith("Solution(template product: error ") and "product" in str(found)
    assert found.summary()["error"] == found.error and found.error_gap == found.error / found.error_bound - 1
    # With a plan the figures that the gap is between stay.
    shown = dict(solution_rows(found, plan(W, found, {"rho": 0.5})))
    assert list(shown) == names
    assert "for noise of variance 1" in shown["total error"] and "predicted at rho = 0.5" in shown["rmse"]


def test_refused(tmp_path):
    found = templates(W, 2, ["union"]).solution(W)
    record, arrays = pack(found.fields())
    hint = "save one with 'mmopt templates --out' or Solution.save"
    record["strategy"]["mapping"]["form"] = "tree"
    path = write_npz(record, arrays, tmp_path / "tree.npz")
    with pytest.raises(ResultError) as caught:
        Solution.load(path)
    assert str(caught.value) == (
        f"'{path}' is not a saved strategy: its strategy has the form 'tree', expected product, union, "
        f"marginals, sectors or sectorwise\n  {hint}"
    )
    for name, value, words in (
        ("error", "low", "its field 'error' is a str, expected float"),
        ("template", 3, "its field 'template' is a int, expected str"),
    ):
        path = write_npz({**pack(found.fields())[0], name: value}, arrays, tmp_path / "wrong.npz")
        with pytest.raises(ResultError) as caught:
            Solution.load(path)
        assert str(caught.value) == f"'{path}' is not a saved strategy: {words}\n  {hint}"
    path = write_npz({"kind": "strategy in factors"}, {}, tmp_path / "empty.npz")
    with pytest.raises(ResultError):
        Solution.load(path)
