"""The other keys of a workload file hold however it is passed; arguments take precedence.

Guards accuracy_budget_and_default_strategy.py.
"""

import math
from pathlib import Path

import pandas as pd
import pytest

import mmopt
from mmopt.answers.accuracy_budget_and_default_strategy import at_privacy
from mmopt.errors import OptionError
from mmopt.privacy import Privacy
from mmopt.request import TableOptions, WorkloadLike
from mmopt.strategies import ADD_REMOVE

TEXT = """
domain: {sex: {values: [F, M]}}
workload: [{marginal: [sex], max_variance: 10}]
privacy: {rho: 0.5}
neighbours: replace-one
data: {table: people}
"""
DICTIONARY = {
    "domain": {"sex": ["F", "M"]},
    "workload": [{"marginal": ["sex"], "max_variance": 10}],
    "privacy": {"rho": 0.5},
    "neighbours": "replace-one",
    "data": {"table": "people"},
}


def test_a_file_says_all_of_it(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for form in ["file.yaml", "file.workload", "file", "request", "dictionary"]:
        with subtests.test(form):
            workload: WorkloadLike = DICTIONARY
            if form != "dictionary":
                workload = tmp_path / form
                workload.write_text(TEXT)
            if form == "request":
                workload = mmopt.load_request(workload)
            what = at_privacy(workload)
            assert what.privacy == Privacy(rho=0.5) and str(what.neighbours) == "replace-one"
            assert what.table == TableOptions(table="people")
            other = at_privacy(workload, {"epsilon": 1}, "add-remove")
            assert other.privacy == Privacy(epsilon=1.0) and other.neighbours == ADD_REMOVE


def test_a_workload_says_neither() -> None:
    what = at_privacy(mmopt.Domain.of(sex=["F", "M"]).marginal("sex"))
    assert (what.privacy, what.neighbours, what.file) == (None, None, None)
    assert what.table == TableOptions()


def test_a_budget_is_of_one_kind() -> None:
    with pytest.raises(OptionError) as caught:
        mmopt.budget(DICTIONARY, delta=1e-6, pure=True)
    assert str(caught.value) == "delta and pure are two kinds of budget\n  leave one of them out"


def test_queries_with_a_target_keep_their_names() -> None:
    """They were numbered anew where others of the matrix have none."""
    rows = [[1, 0], [0, 1], [1, 1]]
    numbered = mmopt.budget(mmopt.Workload.from_matrix(rows, targets=[4.0, math.inf, 9.0]))
    assert numbered.errors["label"].tolist() == ["query 0", "query 2"]
    frame = pd.DataFrame(rows, index=["a", "b", "c"])
    named = mmopt.budget(mmopt.Workload.from_matrix(frame, targets=[math.inf, 4.0, 9.0]))
    assert named.errors["label"].tolist() == ["b", "c"]
