"""A saved solution comes back equal, from plain arrays; what is no such file, or has a field of another
kind than declared (saved_fields), is refused by name.

Guards solution_rows_and_json.py, saved_fields.py.
"""

import dataclasses
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from named_workloads import named

from mmopt import ResultError, Solution, Workload, solve
from mmopt.numerics.arrays import rounded
from mmopt.results import Status, gap_between, kind_of_gap
from mmopt.results.saved_fields import _FITS, check_kinds, pack, write_npz
from mmopt.results.solution_rows_and_json import _digits


@pytest.fixture(scope="module")
def solutions() -> list[Solution]:
    return [solve(named("prefix"), name) for name in ("l2_strategy", "eigen_design", "fitness_for_use")]


@pytest.fixture(scope="module")
def solution(solutions: list[Solution]) -> Solution:
    return solutions[0]


def test_a_file_is_plain_and_loads_back_equal(solutions: list[Solution], tmp_path: Path) -> None:
    for solution in solutions:
        path = solution.save(tmp_path / solution.program / "saved")
        assert path.name == "saved.npz"
        loaded = Solution.load(path)
        assert loaded == solution
        assert loaded.summary() == solution.summary()
        assert loaded.options["time_limit"] == np.inf  # which JSON lacks
        assert solution.summary()["options"]["time_limit"] is None
        json.dumps(solution.summary(), allow_nan=False)
        assert [p.name for p in path.parent.iterdir()] == ["saved.npz"]
        with np.load(path, allow_pickle=False) as archive:
            record = json.loads(bytes(archive["record.json"]))
            kinds = {archive[name].dtype.kind for name in archive.files}
        assert kinds <= {"f", "u"}
        assert record["record"]["program"] == solution.program
        with zipfile.ZipFile(path) as archive:
            assert all(name.endswith(".npy") for name in archive.namelist())


def test_another_number_is_another_solution(solutions: list[Solution]) -> None:
    for solution in solutions:
        assert dataclasses.replace(solution, objective=np.nextafter(solution.objective, 9.0)) != solution
        moved = {name: m + 1.0 for name, m in solution.multipliers.items()}
        assert dataclasses.replace(solution, multipliers=moved) != solution


def test_what_is_no_saved_solution_is_refused(
    subtests: pytest.Subtests, solution: Solution, tmp_path: Path
) -> None:
    saved = solution.save(tmp_path / "saved")
    with np.load(saved, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    record = json.loads(bytes(arrays["record.json"]))
    del record["record"]["objective"]

    def text(value: object) -> np.ndarray:
        return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)

    path = tmp_path / "other.npz"
    for content, said in (
        (b"", f"\n  {HINT}"),
        (b"not a zip", f"\n  {HINT}"),
        (b"PK\x03\x04 cut short", f"\n  {HINT}"),
        (saved.read_bytes()[:-40], ""),
        ({"a": np.ones(3)}, ""),
        ({**arrays, "record.json": text(record)}, ""),
        ({"record.json": np.array([{"format": 1}], dtype=object)}, ""),
    ):
        with subtests.test(repr(content)[:40]):
            path.write_bytes(content) if isinstance(content, bytes) else np.savez(path, **content)
            with pytest.raises(ResultError) as error:
                Solution.load(path)
            assert str(error.value).startswith(f"'{path}' is not a saved solution{said}")
    np.savez(path, **{"record.json": text({"format": 2, "record": {}})})
    with pytest.raises(ResultError) as error:
        Solution.load(path)
    assert str(error.value) == f"'{path}' has format 2, this version reads 1"


HINT = "save one with --out or Solution.save"
OTHER_KINDS = [
    ("objective", "36", "its field 'objective' is a str, expected float"),
    ("objective", True, "its field 'objective' is a bool, expected float"),
    ("iterations", 1.5, "its field 'iterations' is a float, expected int | None"),
    ("program", 3, "its field 'program' is a int, expected str"),
    ("variables", {"X": 1.0}, "its field 'variables' is a dict, expected Mapping[str, Value]"),
    ("error_multipliers", None, "its field 'error_multipliers' is a NoneType, expected Value"),
    ("seconds", {"total": "long"}, "its field 'seconds' is a dict, expected Mapping[str, float]"),
    ("warnings", [1], "its field 'warnings' is a list, expected tuple[str, ...]"),
    ("steps", [], "its field 'steps' is a list, expected Mapping[str, Solution]"),
    ("strategy", {"matrix": 1.0, "norm": 2}, "its field 'matrix' is a float, expected Array"),
    (
        "strategy",
        {"matrix": np.eye(2) * np.nan, "norm": 2},
        "the strategy has NaN or infinite entries, expected finite numbers",
    ),
    (
        "strategy",
        {"matrix": np.eye(2), "norm": 3},
        "the strategy's norm is 3, expected 1 (Laplace) or 2 (Gaussian)",
    ),
]


def test_a_field_of_another_kind_is_named(
    subtests: pytest.Subtests, solution: Solution, tmp_path: Path
) -> None:
    for field, value, message in OTHER_KINDS:
        with subtests.test(message):
            path = write_npz(*pack({**solution.fields(), field: value}), tmp_path / "saved.npz")
            with pytest.raises(ResultError) as error:
                Solution.load(path)
            assert str(error.value) == f"'{path}' is not a saved solution: {message}\n  {HINT}"
    fields = solution.fields()
    fields["status"]["feasible"] = "yes"
    with pytest.raises(ResultError, match="its field 'feasible' is a str, expected bool"):
        Solution.from_fields(fields)


def test_every_field_has_a_kind() -> None:
    declared = {str(f.type) for c in (Solution, Status) for f in dataclasses.fields(c)}
    assert set(re.findall(r"\w+", " ".join(declared))) <= {"Mapping", "tuple", *_FITS}
    with pytest.raises(KeyError):  # an annotation without one is a mistake of ours
        check_kinds({"a": 1}, {"a": "complex"})


def test_missing_file_and_unwritable_folder(solution: Solution, tmp_path: Path) -> None:
    with pytest.raises(ResultError) as error:
        Solution.load(tmp_path / "none.npz")
    assert str(error.value) == f"there is no saved solution '{tmp_path / 'none.npz'}'"
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError) as error:
        solution.save(tmp_path / "file" / "saved")
    assert str(error.value).startswith(f"'{tmp_path / 'file' / 'saved.npz'}' cannot be written: ")


def test_printed_forms(solutions: list[Solution]) -> None:
    for solution in solutions:
        _check_printed(solution)


def _check_printed(solution: Solution) -> None:
    assert repr(solution).startswith(f"Solution({solution.program} by {solution.solver}: objective ")
    names = [name for name, _ in solution.rows()]
    assert names[:4] == ["program", "solver", "status", "objective"]
    assert ("privacy cost" in names) == (solution.program == "fitness_for_use")
    assert ("step weighting" in names) == (solution.program == "eigen_design")
    assert str(solution).count("\n") == len(names) - 1
    marked = dataclasses.replace(solution, title="<b>&")
    assert "&lt;b&gt;&amp;" in marked._repr_html_()


def test_without_a_bound_it_says_so(solution: Solution) -> None:
    bare = dataclasses.replace(solution, bound=None, steps={})
    assert bare.gap is None
    assert "no bound" in repr(bare)
    assert dict(bare.rows())["gap"] == "none"
    assert bare.summary()["gap"] is None


def test_kind_of_gap() -> None:
    assert kind_of_gap(3.0, 2.0) == kind_of_gap(3.0, None) == kind_of_gap(-1.0, None) == ""
    assert kind_of_gap(3.0, 0.0) == kind_of_gap(-1.0, -2.0) == "their distance over max(0.01, |objective|)"
    assert kind_of_gap(3.0, 2.0, True) == "their distance: the objective has a logarithm"


@pytest.mark.quick
def test_gap() -> None:
    assert gap_between(3.0, 2.0) == 0.5
    assert gap_between(3.0, 0.0) == 1.0
    assert gap_between(0.5, 0.0) == 1.0
    assert gap_between(1e-3, 0.0) == gap_between(0.0, -1e-3) == 0.1
    assert gap_between(3.0, None) is None
    assert gap_between(0.0, 0.0) == 0.0
    assert gap_between(-1.0, -2.0) == 1.0
    assert gap_between(-4.0, -6.0) == 0.5
    assert gap_between(-6.0, -4.0, "maximize") == 2.0 / 6.0
    assert gap_between(-4.0, -6.0, "maximize") == -0.5
    assert gap_between(8.0, 6.0, is_logarithmic=True) == 2.0
    assert gap_between(-16.0, -15.0, "maximize", True) == 1.0
    assert gap_between(np.inf, 0.0) == gap_between(-np.inf, 1.0, "maximize") == np.inf
    assert gap_between(-np.inf, -np.inf) == 0.0
    assert gap_between(2.0, 3.0, "maximize") == 0.5


def test_two_bounds_on_one_quantity_say_why_they_differ() -> None:
    """Two bounds on total error: by the program's certificate, and by multipliers that are improved for it
    alone."""
    w = Workload.from_matrix(np.tri(5))
    words = "over all strategies, at Solution.error_multipliers)"
    two, one = solve(w, "l2_strategy", tolerance=1e-3), solve(w, "eigen_design")
    assert two.error_bound != two.bound and dict(two.rows())["error bound"].endswith(words)
    assert one.error_bound == one.bound and dict(one.rows())["error bound"].endswith("over all strategies)")


@pytest.mark.parametrize(
    ("objective", "bound", "digits"),
    [
        (2.0, 1.0, 10),
        (1.0, 1.0, 10),
        (1 / 3, 1 / 3, 10),
        (9.36331542, 9.363315354, 10),
        (12.0000000000188, 11.9999999999, 13),
        (1000.000000000001, 999.9999999999992, 15),
    ],
)
def test_figures_are_printed_about_as_far_apart_as_they_are(
    objective: float, bound: float, digits: int
) -> None:
    """Rounded to their safe sides, they never come nearer, and with too few digits they would go apart."""
    assert _digits(objective, bound, True) == digits == _digits(bound, objective, False)
    far = [
        float(rounded(objective, n, up=True)) - float(rounded(bound, n, up=False))
        for n in (digits, digits - 1)
    ]
    assert far[0] >= objective - bound
    if 10 < digits < 15:
        assert far[0] <= 2 * (objective - bound) < far[1]
