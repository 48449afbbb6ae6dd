"""Results as tables: the same rows for every library, and the numbers that charts draw."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow
import pytest

from mmopt import Domain, Strategy, Workload
from mmopt.display_base_classes import Charted, Tabular
from mmopt.errors import OptionError, ResultError, TooLargeError
from mmopt.strategies import Neighbours

# One thing, whose figures are no rows.
NO_TABLES = {"Attribute", "Domain", "Explanation", "Factors", "Outcome", "Privacy", "Program"}


def test_every_library_takes_what_is_a_table(shown: dict[str, Any]) -> None:
    assert {name for name, value in shown.items() if not isinstance(value, Tabular)} == NO_TABLES
    for name in sorted(set(shown) - NO_TABLES - {"ComponentStrategy"}):  # of 10^30 cells: below
        value = shown[name]
        table = value.frame().to_arrow()
        assert table.num_rows > 0 and table.num_columns > 1, name
        assert pyarrow.table(value).equals(table) and value.to_arrow().equals(table), name
        assert list(value.to_pandas().columns) == value.to_polars().columns == table.column_names, name
        assert len(value.to_pandas()) == len(value.to_polars()) == table.num_rows, name


def test_every_chart_has_its_table(shown: dict[str, Any], asked: Workload) -> None:
    charted = {name for name, value in shown.items() if isinstance(value, Charted)}
    assert charted == {"Comparison", "ComponentStrategy", "Solution", "Strategy", "Template"}
    for name in ("Solution", "Strategy", "Template"):
        value = shown[name]
        lines = value.plot("errors", asked).axes[0].lines
        errors = value.frame("errors", asked)
        assert [len(errors)] * 3 == [len(errors[one]) for one in ("standard_error", "identity", "workload")]
        for line, column in zip(lines, ("standard_error", "identity", "workload"), strict=False):
            assert np.array_equal(line.get_ydata(), errors[column]), name
        stairs = value.plot("profile").axes[0].patches[0].get_data()
        assert np.array_equal(stairs.values, value.frame("profile")["squared_column"])
        assert value.frame("profile")["cells"].sum() == asked.n
        picture = value.plot("strategy").axes[0].images[0].get_array()
        assert np.array_equal(picture, np.column_stack(list(value.frame("strategy").columns.values())))


def test_errors_are_those_of_the_strategy(shown: dict[str, Any], asked: Workload) -> None:
    solution = shown["Solution"]
    errors = solution.frame("errors", asked)
    assert errors["label"].tolist() == asked.labels()
    assert np.isclose(np.square(errors["standard_error"]).mean(), solution.rmse**2)
    rows = Strategy(np.eye(asked.n), neighbours=Neighbours.of("replace-one"))
    assert "identity" not in rows.frame("errors", asked).names


def test_the_history_is_the_table_of_a_solution(shown: dict[str, Any]) -> None:
    solution = shown["Solution"]
    rows = ({"iteration": 1, "objective": 3.0, "bound": 2.0, "certified": True},)
    assert dataclasses.replace(solution, history=rows).frame().to_csv() == (
        "iteration,objective,bound,gap,certified\n1,3,2,0.5,true\n"
    )


def test_a_workload_is_the_table_of_its_queries(rng: np.random.Generator) -> None:
    matrix, weights = rng.integers(0, 2, (6, 5)) | np.eye(6, 5, dtype=int), rng.uniform(1, 2, 6)
    matrix[5, 0] = 1
    targets = np.where(rng.random(6) < 0.5, np.inf, 7.0)
    frame = Workload.from_matrix(matrix, targets, weights).frame()
    assert frame.names == ("query", "label", "weight", "max_variance", "squared_length")
    assert np.array_equal(frame["weight"], weights) and len(frame) == 6
    assert np.array_equal(np.isnan(frame["max_variance"]), np.isinf(targets))
    assert frame["squared_length"].tolist() == matrix.sum(axis=1).tolist()


def test_queries_of_attributes_say_what_they_count() -> None:
    domain = Domain.of({"weight": ["f", "m"], "age": {"bins": [0, 18, 65]}})
    frame = (domain.marginal("weight") + domain.marginal("age")).frame()
    assert frame["weight_"].tolist() == ["f", "m", None, None]
    assert frame["age_low"].tolist()[2:] == [0.0, 18.0] and frame["weight"].tolist() == [1.0] * 4


def test_attributes_named_as_columns_give_way() -> None:
    domain = Domain.of(label=["a", "b"], query=["x", "y"], weight=["l", "h"])
    names = domain.marginal("label", "query", "weight").frame().names
    assert names[:5] == ("query", "label", "label_", "query_", "weight_") and "weight" in names[5:]


def test_a_comparison_is_the_table_of_its_outcomes(shown: dict[str, Any]) -> None:
    one, other = found = shown["Comparison"]
    frame = found.frame()
    assert frame["program"].tolist() == [one.program, other.program]
    assert frame["objective"][0] == one.solution.objective and np.isnan(frame["objective"][1])
    assert frame["reason"].tolist() == [None, other.reason]
    assert frame["seconds"].tolist() == [one.seconds, other.seconds] == [1.5, 0.0]


def test_a_table_that_there_is_not_is_said(shown: dict[str, Any], asked: Workload) -> None:
    solution = shown["Solution"]
    with pytest.raises(OptionError) as unknown:
        solution.frame("errrors", asked)
    assert str(unknown.value) == (
        "there is no table 'errrors' of it, expected 'convergence', 'strategy', 'profile', 'errors'\n"
        "  did you mean 'errors'?"
    )
    with pytest.raises(OptionError) as missing:
        solution.frame("errors")
    assert str(missing.value) == "errors are those of queries\n  frame('errors', workload)"
    none = dataclasses.replace(solution, has_strategy=False)
    for kind in ("strategy", "profile"):
        with pytest.raises(ResultError) as refused:
            none.frame(kind)
        assert str(refused.value) == "the program 'l2_strategy' has no strategy, so there is none to show"
    with pytest.raises(TooLargeError, match=r"^a strategy of .* cells has no picture .*, and no table"):
        shown["ComponentStrategy"].frame()
    assert shown["ComponentStrategy"].frame("profile")["cells"].sum() == 1e30
