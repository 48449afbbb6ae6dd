"""The natural calls with what is not a Workload yet work, the wrong ones name the right one.

Guards workload_file_and_arguments.py.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import mmopt
from mmopt import Domain, OptionError, Privacy, Program, WorkloadError
from mmopt.data import DataVector
from mmopt.request import as_domain, as_workload, load_request, parse_request, refuse_workload
from mmopt.workloads import Workload

TEXT = "domain: {a: {values: [0, 1, 2]}}\nworkload: [{product: {a: prefix}}]\nprivacy: {epsilon: 1}\n"
KEYS: dict[str, Any] = {"domain": {"a": [0, 1, 2]}, "workload": [{"product": {"a": "prefix"}}]}
TRI = np.tri(3)
MATRICES: dict[str, Any] = {
    "array": TRI,
    "integers": TRI.astype(int),
    "lists": [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    "rows": [TRI[0], TRI[1], TRI[2]],
    "sparse": scipy.sparse.csr_array(TRI),
    "frame": pd.DataFrame(TRI),
}
W = Workload.from_matrix(TRI)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "w.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_matrix_a_file_its_request_and_its_dictionary_are_a_workload(file: Path) -> None:
    for name, matrix in MATRICES.items():
        assert as_workload(matrix) == W, name
    request = load_request(file)
    for value in (file, str(file), request, KEYS, request.workload):
        assert as_workload(value) == request.workload
        assert as_domain(value) == request.workload.domain
    assert as_workload(W) is W
    assert as_domain(W.domain) is W.domain


def test_what_a_file_says_of_rows_holds() -> None:
    plain, request = parse_request(TEXT), parse_request(f"{TEXT}normalise: rows\n")
    assert as_workload(request).is_normalised
    assert as_workload({**KEYS, "normalise": "rows"}) == plain.workload.normalised()


def test_every_call_takes_it(file: Path) -> None:
    request = load_request(file)
    asked = request.workload
    solution = mmopt.solve(asked)
    for value in (file, request, KEYS):
        assert mmopt.solve(value).objective == solution.objective
        assert mmopt.certify(value, "identity").error == mmopt.certify(asked, "identity").error
        assert mmopt.verify(solution, value).holds
        assert mmopt.explain("l2_strategy", value).text() == mmopt.explain("l2_strategy", asked).text()
        for privacy in ({"rho": 1}, Privacy(rho=1.0)):
            assert mmopt.plan(value, solution, privacy).rmse == mmopt.plan(asked, solution, privacy).rmse
        assert mmopt.compare(value, []).workload == asked
        with pytest.raises(OptionError, match="there is no sub-workload 'x': the workload has none"):
            next(mmopt.tune(value, "x"))
    table = file.with_name("t.csv")
    table.write_text("a\n0\n2\n2\n", encoding="utf-8")
    for value in (file, request, KEYS, asked, asked.domain):
        assert mmopt.data_vector(table, value).counts.tolist() == [1, 0, 2]


TAKEN = (
    "  taken are a Workload, a Request, a workload file, its dictionary, a matrix or data frame of queries"
)
ORDER = "solve(workload, program)"
NEITHER = f"neither a workload nor a program is given\n  write {ORDER}, or mmopt solve WORKLOAD"
FIRST = f"  the workload comes first: {ORDER}"
NONE = "a program that asks nothing of a workload is solved by solve(program=program)"
NO_PROGRAM = "is not a program, expected a name ('l2_strategy'), a path or a Program"
ORDERS = "  write solve(workload, program), certify(workload, strategy, program), explain(program, workload)"
WRONG: list[tuple[Callable[[], object], str]] = [
    (
        lambda: mmopt.solve("l2_strategy", W),  # type: ignore[arg-type]
        f"'l2_strategy' is a program, not a workload\n{FIRST}",
    ),
    (
        lambda: mmopt.solve(Program.load("l2_strategy"), W),  # type: ignore[arg-type]
        f"a Program is not a Workload\n{FIRST}; {NONE}",
    ),
    (
        lambda: mmopt.solve(program="l2_strategy"),
        "'l2_strategy' is solved for a workload, and none is given: 'W' is workload.root\n"
        "  give one: solve(workload, program), mmopt solve WORKLOAD --program …, mmopt explain … WORKLOAD",
    ),
    (
        lambda: mmopt.solve(),
        NEITHER,
    ),
    (
        lambda: mmopt.accuracy(None),  # type: ignore[arg-type]
        f"a NoneType is not a Workload\n  {NONE}",
    ),
    (
        lambda: mmopt.certify("haar", W),
        "'haar' is a baseline, not a workload\n  write certify(workload, 'haar'), baseline('haar', workload)",
    ),
    (
        lambda: mmopt.solve(Privacy(1.0)),  # type: ignore[arg-type]
        "a Privacy is not a Workload\n  a privacy goes to plan and release, with the workload",
    ),
    (
        lambda: mmopt.solve(W.domain),  # type: ignore[arg-type]
        "a Domain is not a Workload\n"
        "  say what is asked of it: domain.marginals(ways=1), domain.product(age='prefix')",
    ),
    (
        lambda: mmopt.solve(DataVector(np.zeros(3, np.int64), 0, {})),  # type: ignore[arg-type]
        "a DataVector is not a Workload\n  a workload says what is asked of data: domain.marginals(ways=1)",
    ),
    (
        lambda: mmopt.solve([W, W]),
        "a list of workloads is not a Workload\n  add them up: sum(workloads)",
    ),
    (lambda: mmopt.solve(3), f"a int is not a Workload\n{TAKEN}"),
    (lambda: mmopt.solve(pl.LazyFrame({"a": [1]})), f"a LazyFrame is not a Workload\n{TAKEN}"),
    (
        lambda: mmopt.solve(None),
        NEITHER,
    ),
    (lambda: mmopt.solve("nothing-here.yaml"), "there is no workload file 'nothing-here.yaml'"),
    (
        lambda: mmopt.solve("people.csv"),
        "'people.csv' does not look like a workload file\n  a workload file is YAML; a matrix is read first: "
        "Workload.from_matrix(numpy.load(path))",
    ),
    (
        lambda: mmopt.solve(W, Privacy(1.0)),  # type: ignore[arg-type]
        f"a Privacy {NO_PROGRAM}\n"
        "  a program is solved for noise of scale 1, whatever the privacy: pass the privacy to plan or "
        "release",
    ),
    (lambda: mmopt.solve(W, W), f"a Workload {NO_PROGRAM}\n{ORDERS}"),  # type: ignore[arg-type]
    (
        lambda: mmopt.explain(W, "l2_strategy"),  # type: ignore[arg-type]
        f"a Workload {NO_PROGRAM}\n{ORDERS}",
    ),
    (
        lambda: mmopt.verify(s := mmopt.solve(W), s),  # type: ignore[arg-type]
        "a Solution is not a Workload\n"
        "  pass the workload that was solved: a solution knows it by its hash only",
    ),
    (
        lambda: mmopt.verify(W, W),  # type: ignore[arg-type]
        "a Workload is not a solution, expected what solve returned, or its file\n"
        "  the solution comes first: verify(solution, workload)",
    ),
    (
        lambda: mmopt.baseline(W, "haar"),  # type: ignore[arg-type]
        "name is of type Workload, expected str",
    ),
]


def test_wrong_calls_name_the_right_one(
    subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for call, text in WRONG:
        with subtests.test(text):
            with pytest.raises((WorkloadError, OptionError)) as caught:
                call()
            assert str(caught.value) == text


def test_a_workload_is_no_data_nor_are_data_a_workload() -> None:
    for value, what in (
        (W, "a Workload"),
        (W.domain, "a Domain"),
        (parse_request(TEXT), "a Request"),
        (KEYS, "the dictionary of a workload file"),
        ("w.yaml", "the workload file 'w.yaml'"),
        (Path("w.yml"), "the workload file 'w.yml'"),
    ):
        with pytest.raises(OptionError) as caught:
            refuse_workload(value)
        assert str(caught.value) == (
            f"{what} is given where data are expected\n"
            "  the data come first: release(data, workload, privacy=…)"
        )
    for value in (TRI, pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), {"a": [1, 2]}, "people.csv", None):
        refuse_workload(value)


def test_a_wrong_domain_stays_what_it_is() -> None:
    for value in ("t.csv", 3, TRI):
        assert as_domain(value) is value
    assert as_domain(Domain.of(a=[1]).marginal("a")) == Domain.of(a=[1])


def test_a_program_that_asks_nothing_of_a_workload_needs_none() -> None:
    program = Program.parse("program own\nchoose\n    x: vector[2]\nminimize\n    norm(x - ones(2))**2 + 1\n")
    solution = mmopt.solve(program=program)
    assert solution.objective == pytest.approx(1.0)
    assert mmopt.verify(solution, [[1]]).holds and mmopt.verify(solution).holds
    for found in (mmopt.solve(None, program), mmopt.certify(program=program, point=solution.variables)):
        assert found.workload_hash == solution.workload_hash
    assert mmopt.export(None, program).content == mmopt.export([[1]], program).content
