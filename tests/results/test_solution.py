"""Saved and printed solutions."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from cases import named

from mmopt import ResultError, Solution, solve
from mmopt.results import gap_between, kind_of_gap

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module", params=["l2_strategy", "eigen_design", "fitness_for_use"])
def solution(request: pytest.FixtureRequest) -> Solution:
    return solve(named("prefix"), request.param)


def test_loads_back_equal(solution: Solution, tmp_path: Path) -> None:
    path = solution.save(tmp_path / "folder" / "saved")
    assert path.name == "saved.npz"
    loaded = Solution.load(path)
    assert loaded == solution
    assert loaded.summary() == solution.summary()
    assert [p.name for p in path.parent.iterdir()] == ["saved.npz"]


def test_another_number_is_another_solution(solution: Solution) -> None:
    assert dataclasses.replace(solution, objective=np.nextafter(solution.objective, 9.0)) != solution
    moved = {name: m + 1.0 for name, m in solution.multipliers.items()}
    assert dataclasses.replace(solution, multipliers=moved) != solution


def test_file_is_plain_arrays_and_json(solution: Solution, tmp_path: Path) -> None:
    path = solution.save(tmp_path / "saved.npz")
    with np.load(path, allow_pickle=False) as archive:
        record = json.loads(bytes(archive["record.json"]))
        kinds = {archive[name].dtype.kind for name in archive.files}
    assert kinds <= {"f", "u"}
    assert record["record"]["program"] == solution.program


def test_infinite_options_survive(solution: Solution, tmp_path: Path) -> None:
    assert solution.options["time_limit"] == np.inf
    assert Solution.load(solution.save(tmp_path / "saved")).options["time_limit"] == np.inf
    assert solution.summary()["options"]["time_limit"] is None
    json.dumps(solution.summary(), allow_nan=False)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut short"])
def test_another_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(ResultError) as error:
        Solution.load(path)
    assert str(error.value) == (f"'{path}' is not a saved solution\n  save one with --out or Solution.save")


def test_a_truncated_file_is_refused(solution: Solution, tmp_path: Path) -> None:
    path = solution.save(tmp_path / "saved")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ResultError, match="is not a saved solution"):
        Solution.load(path)


def test_arrays_that_are_no_solution_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, a=np.ones(3))
    with pytest.raises(ResultError, match="is not a saved solution"):
        Solution.load(path)


def test_a_record_that_lacks_a_field_is_refused(solution: Solution, tmp_path: Path) -> None:
    path = solution.save(tmp_path / "saved")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    record = json.loads(bytes(arrays["record.json"]))
    del record["record"]["objective"]
    arrays["record.json"] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(ResultError, match="is not a saved solution"):
        Solution.load(path)


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "objects.npz"
    np.savez(path, **{"record.json": np.array([{"format": 1}], dtype=object)})
    with pytest.raises(ResultError, match="is not a saved solution"):
        Solution.load(path)


def test_another_format_is_named(solution: Solution, tmp_path: Path) -> None:
    path = tmp_path / "later.npz"
    text = json.dumps({"format": 2, "record": {}}).encode()
    np.savez(path, **{"record.json": np.frombuffer(text, dtype=np.uint8)})
    with pytest.raises(ResultError) as error:
        Solution.load(path)
    assert str(error.value) == f"'{path}' has format 2, this version reads 1"


def test_missing_file_and_unwritable_folder(solution: Solution, tmp_path: Path) -> None:
    with pytest.raises(ResultError) as error:
        Solution.load(tmp_path / "none.npz")
    assert str(error.value) == f"there is no saved solution '{tmp_path / 'none.npz'}'"
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError) as error:
        solution.save(tmp_path / "file" / "saved")
    assert str(error.value).startswith(f"'{tmp_path / 'file' / 'saved.npz'}' cannot be written: ")


def test_printed_forms(solution: Solution) -> None:
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
    assert kind_of_gap(3.0, 0.0) == kind_of_gap(-1.0, -2.0) == "absolute, over max(1, |objective|)"
    assert kind_of_gap(3.0, 2.0, True) == "absolute: of a logarithm"


def test_gap() -> None:
    assert gap_between(3.0, 2.0) == 0.5
    assert gap_between(3.0, 0.0) == 1.0
    assert gap_between(0.5, 0.0) == 0.5
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


def test_archive_has_no_foreign_members(solution: Solution, tmp_path: Path) -> None:
    with zipfile.ZipFile(solution.save(tmp_path / "saved")) as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())
