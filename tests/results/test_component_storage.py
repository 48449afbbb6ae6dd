"""Values by component in saved solutions: back as they were, and refused where they do not fit together.

Guards saved_fields.py.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from symmetric_workloads import random_products

from mmopt import ResultError, Solution, WorkloadError, solve
from mmopt.numerics.component_arrays import Level, Space, Split, lift
from mmopt.results.saved_fields import pack, plain, restored, unpack, write_npz
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals


def values(rng: np.random.Generator) -> dict[str, Split | Level]:
    found = None
    while found is None:
        found = symmetry(random_products(rng), True)
    return dict(found.sources)


def there_and_back(value: Any) -> Any:
    return restored(unpack(*pack({"value": plain(value)}))["value"])


@pytest.mark.draws(2)
def test_values_come_back(rng: np.random.Generator) -> None:
    for name, value in values(rng).items():
        again = there_and_back(value)
        assert type(again) is type(value)
        assert again.shape == value.shape
        if isinstance(value, Level):
            np.testing.assert_array_equal(again.values, value.values)
            assert again.space.matches(value.space)
            continue
        assert all(np.array_equal(a, b) for a, b in zip(again.parts, value.parts, strict=True))
        assert again.rows.matches(value.rows) and again.columns.matches(value.columns)
        if name == "workload.basis":  # cells know their coordinates again
            np.testing.assert_array_equal(again.columns.orbit_of(), value.columns.orbit_of())
            for at in range(value.columns.count):
                assert (again.columns.basis(at) != value.columns.basis(at)).nnz == 0


def test_queries_do_not_know_their_coordinates(rng: np.random.Generator) -> None:
    value = values(rng)["workload.representation"]
    with pytest.raises(WorkloadError, match="has no basis"):
        lift(there_and_back(value))


def test_other_values_stay_as_they_are() -> None:
    array = np.arange(3.0)
    assert plain(array) is array and restored(array) is array
    assert restored(plain({"a": {"b": array}}))["a"]["b"] is array


DAMAGES: list[tuple[tuple[str, ...], Callable[[Any], Any]]] = [
    (("variables", "Sigma", "parts"), lambda a: a[:-1]),
    (("variables", "Sigma", "rows", "dims"), lambda a: -a),
    (("variables", "Sigma", "rows", "multiplicities"), lambda a: a + 1.0),
    (("basis", "columns", "mirrors"), lambda a: a + 1),
    (("basis", "columns", "classes"), lambda a: a + 1),
    (("basis", "columns", "classes"), lambda a: a.astype(float)),
    (("basis", "columns", "keys"), lambda a: a + 9),
    (("basis", "columns", "kept"), lambda a: a + 1),
    (("multipliers", "accuracy", "values"), lambda a: a[:-1]),
    (("multipliers", "accuracy", "space", "labels"), lambda a: a + 99),
    (("multipliers", "accuracy", "space", "sizes"), lambda a: 0.0 * a),
    (("multipliers", "accuracy", "space", "total"), lambda a: "many"),
    (("strategy", "split", "kind"), lambda a: "vector by orbit"),
    (("strategy", "split", "columns", "attributes"), lambda a: a[:-1]),
    (("strategy", "split"), lambda a: np.eye(2)),
]


def test_a_file_that_does_not_fit_together_is_refused(
    subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("mmopt.driver.task_and_plan.MOST_CELLS", 1)
    solution = solve(marginals([2, 3, 3], [1, 2], target=1.0), "fitness_for_use")
    for path, change in DAMAGES:
        with subtests.test(".".join(path)):
            saved = inner = dict(solution.fields())
            for name in path[:-1]:
                inner[name] = dict(inner[name])
                inner = inner[name]
            inner[path[-1]] = change(inner[path[-1]])
            file = write_npz(*pack(saved), tmp_path / "saved.npz")
            with pytest.raises(ResultError) as error:
                Solution.load(file)
            assert str(error.value).startswith(f"'{file}' is not a saved solution")


def test_an_abstract_space_comes_back() -> None:
    space = Space(np.array([2.0, 1.0]), (1, 3))
    split = Split(space, space, (np.ones((1, 1)), np.eye(3)))
    np.testing.assert_array_equal(lift(there_and_back(split)), lift(split))
