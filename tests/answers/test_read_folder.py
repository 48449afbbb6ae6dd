"""Folders that are releases, changed ones, old ones, none, and figures that do not follow.

Guards read_and_recheck_folder.py, and what of refined_answers.py reads folders.
That no edit of one place is read is ``tests/judge/test_records.py``.
"""

import hashlib
import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet
import pytest

import mmopt
from mmopt.answers import Release, load_release, private_release
from mmopt.errors import DataError, OptionError, ResultError
from mmopt.mechanism.release_writing import guarantee
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_epsilon
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.results import Frame
from mmopt.results.solution import gap_between
from mmopt.workloads import Workload
from tests.answers.test_release_result import ASKED, released

PRIVACY = released(3).manifest["privacy"]
CHANGED = "\n  it was changed since; copy it again from where it was released"
HINT = "\n  name a folder that 'mmopt release --out' or Release.save wrote"


def refusal(folder: Path, workload: Workload | None = None) -> str:
    with pytest.raises(ResultError) as caught:
        load_release(folder, workload)
    return str(caught.value)


def changed(folder: Path, **entries: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest = {key: value for key, value in {**manifest, **entries}.items() if value is not None}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def listed_again(folder: Path) -> None:
    """The manifest lists the files as they are now, as whoever changed them would."""
    files = (path for path in folder.iterdir() if path.name != "manifest.json")
    changed(folder, files={f.name: {"sha256": hashlib.sha256(f.read_bytes()).hexdigest()} for f in files})


def test_what_is_no_release(tmp_path, folder):
    none = tmp_path / "none"
    assert refusal(none) == f"there is no folder '{none}'{HINT}"
    none.mkdir()
    assert refusal(none) == f"'{none}' is not a release: it has no manifest.json{HINT}"
    twice = (b'{"format": 1, "format": 2}', b'{"a": {"b": 1, "b": 1}}', b'{"a": NaN}', b'{"a": -1e400}')
    for text in (b"{", b"\xff", *twice, b"[" * 200_000, b"[" * 150 + b"]" * 150):
        (none / "manifest.json").write_bytes(text)
        assert refusal(none) == f"'{none}/manifest.json' is not the manifest of a release{HINT}"
    for text, kind in (("[]", "None"), ('{"format": "mmopt release 4"}', "'mmopt release 4'")):
        (none / "manifest.json").write_text(text)
        assert refusal(none) == (
            f"'{none}/manifest.json' has format {kind}, this version reads mmopt release 1, mmopt release 2, "
            f"mmopt release 3{HINT}"
        )
    changed(folder, privacy=None, noise=None)
    assert refusal(folder) == f"'{folder}/manifest.json' lacks privacy, noise{HINT}"


def test_a_manifest_with_other_values(again, subtests):
    for key, value in [
        ("privacy", {}),
        ("privacy", 3),
        ("workload", {"hash": "", "queries": "many", "cells": 1}),
        ("accuracy", {"rmse": "x", "confidence": 0.9, "coverage": {"least": 0.9, "kind": ""}}),
        (
            "accuracy",
            {**released(3).manifest["accuracy"], "asked": {"a": {"within": "x", "confidence": 0.9}}},
        ),
        ("accuracy", {**released(3).manifest["accuracy"], "asked": {"a": {"least_variance": 1.0}}}),
        ("accuracy", {**released(3).manifest["accuracy"], "asked": ["± 20 at 95%"]}),
        ("noise", {"kind": "", "scale": None, "scale_at_unit_strategy": 1.0}),
        ("privacy", {**PRIVACY, "epsilon": "1"}),
        ("privacy", {**PRIVACY, "rho": math.nan}),
        ("privacy", {**PRIVACY, "delta": -1.0}),
        ("private", "yes"),
        ("time", 3),
    ]:
        with subtests.test(f"{key}, {value}"):
            folder = again()
            changed(folder, **{key: value})
            assert refusal(folder) == f"'{folder}/manifest.json' is not the manifest of a release{HINT}"


def test_the_accuracy_that_was_asked_for_is_compared_with_the_workload(tmp_path):
    """In a folder without it nothing confirms it, and it is listed."""
    domain = mmopt.Domain.of(a=["x", "y", "z"])
    workload = domain.product(a="identity", within=20.0) + domain.product(a="prefix")
    privacy, people = {"epsilon": 0.05}, {"a": ["x", "y", "y"]}
    folder = mmopt.release(people, workload, privacy, simulate=1).save(tmp_path / "out")
    accuracy = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["accuracy"]
    assert accuracy["asked"] == {"a": {"within": 20.0, "confidence": 0.95, "missed": 3}}
    assert "accuracy.asked" in load_release(folder).unchecked
    assert "accuracy.asked" not in load_release(folder, workload).unchecked
    assert '± 20 at 95%</td><td class="whole">3 missed' in load_release(folder)._repr_html_()
    for asked in ({"a": {**accuracy["asked"]["a"], "missed": 0}}, {}):
        changed(folder, accuracy={**accuracy, "asked": asked})
        assert "contradicts itself: accuracy asked" in refusal(folder, workload)


def test_what_was_declared_of_rows_is_in_the_manifest_and_is_compared(tmp_path):
    """The rules with the workload; words for missing values, spelling and weight stand in no other file."""
    described = {
        "domain": {
            "sex": {"values": ["F", "M"], "missing": {"cell": "unknown"}, "outside": "drop"},
            "age": {"bins": [0, 18, 65], "column": "years", "missing": "drop"},
            "city": {"values": ["A", "B"]},
        },
        "workload": [{"marginal": ["sex"]}],
        "data": {"null": [-9, "k. A."], "spelling": "loose"},
    }
    people = {"sex": ["F", "m ", "-9"], "years": [30, 40, 70], "city": ["A", "A", "A"]}
    with pytest.raises(DataError, match="1 outside the declared domain"):
        mmopt.release(people, described, {"rho": 1.0}, simulate=1)
    released = mmopt.release({**people, "years": [30, 40, -9]}, described, {"rho": 1.0}, simulate=1)
    rules = {
        "sex": {"column": "sex", "use": "queries", "outside": "drop", "missing": "unknown"},
        "age": {"column": "years", "use": "filter", "outside": "refuse", "missing": "drop"},
    }
    declared = {"null": ["-9", "k. A."], "spelling": "loose", "weight": None}
    folder = released.save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["rows"] == {"rules": rules, **declared}
    assert dict(load_release(folder).rows())["rows"] == (
        "values outside the domain dropped (sex), refused (age); missing values counted as 'unknown' (sex), "
        "dropped (age); missing are also '-9', 'k. A.'; spelling loose; only filters: age"
    )
    assert "rows" in load_release(folder).unchecked
    unchecked = load_release(folder, described).unchecked
    assert {"rows.null", "rows.spelling", "rows.weight"} <= set(unchecked) and "rows.rules" not in unchecked
    changed(folder, rows={**declared, "rules": {**rules, "age": {**rules["age"], "missing": "refuse"}}})
    assert "contradicts itself: rows rules age missing is 'refuse' by" in refusal(folder, described)
    for wrong in (3, {}, {"rules": 1, **declared}, {"rules": {"a": {}}, **declared}):
        changed(folder, rows=wrong)
        assert refusal(folder) == f"'{folder}/manifest.json' is not the manifest of a release{HINT}"


def test_a_release_of_the_format_before_loads_with_its_words(tmp_path):
    """Units and facts not covered had other words, prefixes other columns; rules of rows were not written."""
    workload = mmopt.Domain.of(a=["x", "y", "z"]).product(a="prefix")
    people = {"a": ["x", "y", "y"], "person": ["p", "p", "q"]}
    released = mmopt.release(people, workload, {"rho": 1.0}, unit={"column": "person", "rows": 2}, simulate=1)
    columns = {**released.answers.columns, "a": np.array(["x", "x to y", None], dtype=object)}
    folder = replace(released, answers=Frame(columns, released.answers.metadata)).save(tmp_path / "out")
    assert "the column a of its answers is not that" in refusal(folder, workload)
    privacy = {
        **released.manifest["privacy"],
        "unit": "one person, of whom at most 2 rows count; by 'person'",
    }
    privacy["not_covered"] += "; whether a row names no person"
    changed(folder, format="mmopt release 2", privacy=privacy, rows=None, allowed=None)
    old = load_release(folder, workload)
    assert old.answers["a"].tolist() == ["x", "x to y", None] and not {"rows", "allowed"} & {
        *dict(old.rows())
    }
    assert {"privacy.unit", "privacy.not_covered"} <= set(old.unchecked)
    changed(folder, privacy={**privacy, "sensitivity": "none"})
    assert "contradicts itself: privacy sensitivity" in refusal(folder, workload)


SUM = {"sha256": ""}


def test_a_list_of_files_that_is_none(folder, subtests):
    for listed in [
        *([], {}, {"answers.csv": 1}, {"answers.csv": SUM}, {"answers.parquet": SUM}, None),
        {"answers.csv": SUM, "answers.parquet": {}},
        {"answers.csv": SUM, "answers.parquet": SUM, "../up": SUM},
    ]:
        with subtests.test(str(listed)):
            changed(folder, files=listed)
            assert refusal(folder) == f"'{folder}/manifest.json' does not say which files belong to it{HINT}"


def test_a_folder_with_a_parquet_file_is_none_of_version_0_1_0(folder):
    """Else less of it would be compared."""
    changed(folder, format="mmopt release 1")
    assert refusal(folder) == f"'{folder}/manifest.json' does not say which files belong to it{HINT}"


@pytest.mark.quick
def test_a_file_that_was_changed_or_lost_is_named(again, subtests):
    for name in ["answers.csv", "answers.parquet", "answers.svg", "strategy.npz"]:
        with subtests.test(name):
            folder = again()
            path = folder / name
            data = path.read_bytes()
            path.write_bytes(data[:-3] + b"9" + data[-2:])
            found, told = (hashlib.sha256(each).hexdigest() for each in (path.read_bytes(), data))
            assert refusal(folder) == (
                f"'{path}' is not the file that was released: its SHA-256 is {found[:16]}…, the manifest "
                f"says {told[:16]}…{CHANGED}"
            )
            path.unlink()
            assert refusal(folder) == (
                f"'{folder}' is incomplete: its manifest lists {name}, which cannot be read\n"
                "  copy the folder again from where it was released"
            )


def test_answers_that_cannot_be_read(folder, subtests):
    for data in [b"", b"PAR1", b"query,label\n1,2\n"]:
        with subtests.test(str(data)):
            (folder / "answers.parquet").write_bytes(data)
            listed_again(folder)
            assert refusal(folder) == f"the answers in '{folder}' cannot be read{HINT}"


def test_a_release_of_version_0_1_0_loads(folder):
    """A CSV file without attributes, a manifest that lists no files."""
    new = load_release(folder)
    lines = ["query,label,estimate,standard_error,low,high,coverage,private"]
    for i in range(len(new)):
        figures = (new.answers[name][i] for name in ("estimate", "standard_error", "low", "high", "coverage"))
        lines.append(",".join([f"g,q{i}", *map(repr, map(float, figures)), "false"]))
    (folder / "answers.csv").write_text("\n".join(lines) + "\n")
    for name in ("answers.parquet", "answers.svg", "strategy.npz"):
        (folder / name).unlink()
    changed(folder, files=None, format="mmopt release 1")
    old = load_release(folder)
    assert old.answers.names == tuple(lines[0].split(",")) and old.solution is None
    assert np.array_equal(old.answers["estimate"], new.answers["estimate"])
    assert old.answers["label"].tolist() == [f"q{i}" for i in range(len(new))]
    assert old.answers.metadata == new.answers.metadata and not old.answers["private"].any()
    assert old.rows() == new.rows() and len(old.plot().axes) == 1
    (folder / "answers.csv").write_text("query,label\n1\n")
    assert refusal(folder) == f"the answers in '{folder}' cannot be read{HINT}"


@pytest.mark.quick
def test_a_manifest_that_claims_something_else_than_the_answers(folder, subtests):
    for key, told, found in [
        ("guarantee", "pure epsilon", "(epsilon, delta)"),
        ("epsilon", 0.01, "1.0"),
        ("epsilon", None, "1.0"),
        ("delta", 1e-30, "1e-06"),
        ("rho", 1e-9, str(PRIVACY["rho"])),
        ("neighbours", "replace-one", "add-remove"),
    ]:
        with subtests.test(f"{key}, {told}"):
            changed(folder, privacy={**PRIVACY, key: told})
            assert refusal(folder) == (
                f"'{folder}' contradicts itself: {key} is {told} by its manifest, {found} by its answers"
                f"{CHANGED}"
            )


def test_simulated_answers_are_not_private_whatever_the_manifest_says(folder):
    said = f"'{folder}' contradicts itself: private is true by its manifest, false by its answers{CHANGED}"
    changed(folder, private=True)
    assert refusal(folder) == said
    (folder / "answers.parquet").unlink()
    changed(folder, files=None, format="mmopt release 1")
    assert refusal(folder) == said


@pytest.mark.quick
def test_two_files_of_answers_that_differ(folder):
    one = load_release(folder).answers["estimate"][0]
    text = (folder / "answers.csv").read_text()
    (folder / "answers.csv").write_text(text.replace(f",{one:g}", f",{one + 1:g}", 1))
    listed_again(folder)
    assert refusal(folder) == (
        f"'{folder}' contradicts itself: answers.csv and answers.parquet hold other answers{CHANGED}"
    )


def test_another_strategy_than_was_measured_is_not_believed(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    own = manifest["strategy"]["hash"]
    changed(folder, strategy={**manifest["strategy"], "hash": "0" * 64})
    assert refusal(folder, ASKED) == (
        f"the strategy in '{folder}' gives other integers than were measured: their hash is {own[:16]}…, the "
        f"manifest says {'0' * 16}…\n"
        f"  it was released by mmopt {manifest['versions']['mmopt']}, on other versions of libraries"
    )


BY_ANSWERS, BY_PLAN = "its answers and its other figures", "its strategy and noise"


@pytest.mark.quick
def test_what_follows_from_answers_strategy_and_noise_is_compared(folder, subtests):
    """Without the workload; with it, also what follows from the plan."""
    manifest = json.loads((folder / "manifest.json").read_text())
    noise, accuracy, strategy = manifest["noise"], manifest["accuracy"], manifest["strategy"]
    rmse, unit = accuracy["rmse"], noise["scale_at_unit_strategy"]
    least = float(load_release(folder).answers["coverage"].min())
    simulated = "simulated, not private"
    alone, whole = load_release(folder), load_release(folder, ASKED)
    assert alone.plan is None and whole.plan is not None
    assert alone.unchecked == (
        *("workload.hash", "workload.cells", "strategy.hash", "strategy.rows", "strategy.bits"),
        *("strategy.sensitivity", "strategy.parts", "strategy.bias", "strategy.rounding_loss"),
        *("privacy.theorem", "privacy.sensitivity", "privacy.not_covered", "privacy.set_by"),
        *("noise.scale", "noise.scale_at_unit_strategy", "allowed", "accuracy.coverage.kind"),
        *("versions", "time"),
    )
    assert whole.unchecked == ("privacy.set_by", "allowed", "versions", "time")
    assert released(3).unchecked == ()
    for place, told, fact, by in (
        ("accuracy rmse", rmse / 10, None, BY_ANSWERS),
        ("accuracy rmse", str(rmse), None, BY_ANSWERS),
        ("accuracy coverage least", 0.99, least, BY_ANSWERS),
        ("accuracy coverage largest", 0.99, least, BY_ANSWERS),
        ("noise kind", "discrete Gaussian", simulated, BY_ANSWERS),
        ("noise sampler", "opendp make_gaussian", "numpy", BY_ANSWERS),
        ("noise scale_at_unit_strategy", 2 * unit, unit, BY_ANSWERS),
        ("noise scale", noise["scale"] / 2, None, BY_ANSWERS),
        ("strategy sensitivity", strategy["sensitivity"] / 2, None, BY_ANSWERS),
        ("strategy norm", "L1", "L2", BY_ANSWERS),
        ("strategy rows", 1, 6, BY_ANSWERS),
        ("workload queries", 9, 8, BY_ANSWERS),
        ("workload queries", 8.0, 8, BY_ANSWERS),
        ("warning", "none", "", BY_ANSWERS),
        ("privacy unit", "a person", "one row", BY_ANSWERS),
        ("program title", "mine", None, "its strategy"),
        ("program sha256", "0" * 64, None, "its strategy"),
        ("strategy bias", 0.5, strategy["bias"], BY_PLAN),
        ("strategy rounding_loss", 2.0, strategy["rounding_loss"], BY_PLAN),
        ("strategy parts 0 relative_noise", 2.0, 1.0, BY_PLAN),
        ("workload cells", 7, 6, BY_PLAN),
        ("privacy theorem", "magic", None, BY_PLAN),
        ("privacy sensitivity", "none", "largest L2 norm of a column", BY_PLAN),
        ("privacy not_covered", "", None, BY_PLAN),
        ("privacy scaled", "down", "missing", BY_PLAN),
        ("accuracy coverage kind", "exact", "of the law drawn", BY_PLAN),
    ):
        with subtests.test(f"{place}, {told}"):
            edited, name = set_at(manifest, {place: told}), place.split()[-1]
            (folder / "manifest.json").write_text(json.dumps(edited))
            found = refusal(folder, ASKED if by == BY_PLAN else None)
            if by == BY_PLAN:
                assert load_release(folder).manifest == edited
            assert found.startswith(f"'{folder}' contradicts itself: ") and found.endswith(f"{by}{CHANGED}")
            if name not in ("scale", "sensitivity"):  # which are compared with one another
                said = repr(fact) if fact is not None else ""
                assert f": {place} is {told!r} by its manifest, {said}" in found


UNIT = "_at_unit_strategy"


def set_at(manifest: dict, places: dict[str, object]) -> dict:
    """A copy with these values at these places."""
    edited = json.loads(json.dumps(manifest))
    for place, told in places.items():
        inside, (*way, name) = edited, place.split()
        for step in way:
            inside = inside[int(step) if step.isdecimal() else step]
        inside[name] = told
    return edited


@pytest.mark.quick
def test_figures_that_are_changed_together_must_allow_one_another(again, subtests):
    """Also where answers, or the strategy, are changed with them: what is proved of rho, what is left."""
    folder = again()
    manifest = json.loads((folder / "manifest.json").read_text())
    parquet = pyarrow.parquet.read_table(folder / "answers.parquet")
    rho = PRIVACY["rho"]
    least = continuous_gaussian_epsilon(math.sqrt(2 * rho), PRIVACY["delta"])
    ledger = {"data_set": "people", "entry": 1, "measure": "rho", "spent": rho, "total": 1.0, "left": 0.5}
    negative = {
        f"{section} {name}": -manifest[section][name]
        for section, name in (("strategy", "sensitivity"), *(("noise", f"scale{x}") for x in ("", UNIT)))
    }
    for places, refused in [
        ({"privacy epsilon": 0.01}, "privacy epsilon is 0.01 by its manifest, 0.99999"),
        ({"privacy epsilon": 0.0}, "privacy epsilon is 0.0 by its manifest, 0.99999"),
        ({"privacy epsilon": least * (1 - 1e-6)}, "privacy epsilon is 0.99999"),
        ({"privacy epsilon": least * (1 + 1e-6)}, ""),
        ({"privacy epsilon": 2.0}, ""),
        ({"privacy delta": 1e-300}, "privacy epsilon is 1.0 by its manifest, 8.76"),
        ({"privacy delta": 0.0}, "not the manifest"),
        ({"privacy guarantee": "pure epsilon"}, "privacy guarantee is 'pure epsilon' by its manifest, '(eps"),
        (
            {"privacy rho": None, "privacy guarantee": "pure epsilon"},
            "strategy norm is 'L2' by its manifest, 'L1'",
        ),
        ({"privacy rho": 0.0, "strategy sensitivity": 0.0}, ""),  # of queries that no neighbour changes
        ({"workload cells": -6}, "workload cells is -6 by its manifest, 1"),
        ({"workload cells": 6.5}, "workload cells is 6.5 by its manifest, 6"),
        ({"strategy rows": 600, "strategy parts 0 rows": 600}, ""),
        ({"strategy rows": 6.0, "strategy parts 0 rows": 6.0}, "strategy rows is 6.0"),
        ({"strategy bits": True}, "strategy bits is True by its manifest, 1"),
        (negative, "strategy sensitivity is -"),
        ({"program": "minimax_variance"}, "program name is 'missing' by its manifest, "),
        ({"solution": 3}, "not the manifest"),
        ({"files": {**manifest["files"], "a\0b": {"sha256": "x"}}}, "is incomplete"),
        ({"ledger": ledger}, ""),
        ({"ledger": {**ledger, "total": rho, "left": 0.0}}, ""),
        ({"ledger": {**ledger, "left": 1.0 - rho}}, ""),
        ({"ledger": {**ledger, "left": 1.0}}, "ledger left is 1.0 by its manifest, 0.97198551808738"),
        ({"ledger": {**ledger, "left": -0.5}}, "ledger left is -0.5 by its manifest, 0.0"),
        ({"ledger": {**ledger, "left": "0.5"}}, "not the manifest"),
        ({"ledger": {**ledger, "left": 0}}, "ledger left is 0 by its manifest, 0.0"),
        ({"ledger": {**ledger, "total": rho / 2, "left": 0.0}}, "ledger total is "),
        ({"ledger": {**ledger, "entry": -3}}, "ledger entry is -3 by its manifest, 1"),
        ({"ledger": {**ledger, "entry": 1.0}}, "ledger entry is 1.0 by its manifest, 1"),
        ({"ledger": {**ledger, "data_set": 3}}, "ledger data_set is 3 by its manifest, '3'"),
        ({"ledger": {**ledger, "part": "n"}}, "not the manifest"),
        ({"ledger": "paid"}, "not the manifest"),
    ]:
        with subtests.test(str(places)):
            edited = set_at(manifest, places)
            told = {name.encode(): value.encode() for name, value in guarantee(edited).items()}
            own = {k: v for k, v in parquet.schema.metadata.items() if k.decode() not in PRIVACY}
            path = folder / "answers.parquet"
            pyarrow.parquet.write_table(parquet.replace_schema_metadata({**own, **told}), path)
            edited["files"]["answers.parquet"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
            (folder / "manifest.json").write_text(json.dumps(edited))
            assert refused in (refusal(folder) if refused else str(load_release(folder).rows()))


def test_a_private_release_is_of_the_workload_of_its_strategy(tmp_path, subtests):
    folder = released().save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert not {"workload.hash", "workload.cells"} & set(load_release(folder).unchecked)
    for place, told in ("hash", "0" * 64), ("cells", 7):
        with subtests.test(place):
            changed(folder, workload={**manifest["workload"], place: told})
            assert f"workload {place} is {told!r} by its manifest, " in refusal(folder)


def test_noise_that_is_not_that_of_the_answers_is_refused(folder):
    """Both figures of a scale, its bits and its sensitivity changed together: the plan has other errors."""
    manifest = json.loads((folder / "manifest.json").read_text())
    strategy, noise, rho = manifest["strategy"], manifest["noise"], manifest["privacy"]["rho"]
    half = {name: value / 2 if "scale" in name else value for name, value in noise.items()}
    changed(folder, noise=half, strategy={**strategy, "sensitivity": strategy["sensitivity"] / 2})
    assert load_release(folder).plan is None
    claim = f"this noise costs rho {4 * rho!r}, the release claims {rho!r}"
    assert refusal(folder, ASKED) == f"'{folder}' contradicts itself: {claim}{CHANGED}"
    twice = {name: value * 2 if "scale" in name else value for name, value in noise.items()}
    changed(folder, noise=twice, strategy={**strategy, "sensitivity": strategy["sensitivity"] * 2})
    assert refusal(folder, ASKED) == (
        f"'{folder}' contradicts itself: the noise of its manifest has other standard errors than its answers"
        f"{CHANGED}"
    )


def test_what_was_spent_from_a_ledger_follows_from_the_cost(folder, subtests):
    rho = PRIVACY["rho"]
    entry = {"data_set": "people", "entry": 1, "measure": "rho", "spent": rho, "total": 1.0, "left": 0.5}
    changed(folder, ledger=entry)
    assert {"ledger.left", "ledger.total", "ledger.entry"} < set(load_release(folder).unchecked)
    for name, told, fact in (("spent", rho / 2, rho), ("measure", "epsilon", "rho")):
        with subtests.test(name):
            changed(folder, ledger={**entry, name: told})
            assert refusal(folder) == (
                f"'{folder}' contradicts itself: ledger {name} is {told!r} by its manifest, {fact!r} by "
                f"{BY_ANSWERS}{CHANGED}"
            )


def test_figures_of_refined_answers_follow_from_them(folder, tmp_path, subtests):
    refined = load_release(folder, ASKED).refine().save(tmp_path / "refined")
    about = json.loads((refined / "manifest.json").read_text())["refined"]
    unchecked = load_release(refined).unchecked
    assert {"refined.bound", "refined.gap"} < set(unchecked) and "refined.objective" not in unchecked
    assert about["bound"] == 0.0 <= about["objective"] < 1e-15
    for told in (
        {"gap": 1.0},
        {"objective": 1.0, "gap": 1.0},
        {"objective": 1.0, "gap": 1.0, "standard_errors_from_best": 2.0},
        {"objective": 1.0, "bound": 1.0, "gap": 0.0},
        {"bound": -1.0},
        {"standard_errors_from_best": -1.0},
        {"whole": {"within_one": 8, "others": 0, "largest_distance_of_others": 0.0}},
        {"totals": [{"of": "all rows", "value": 5}]},
        {"counts": 6.0},
        {"program": "mine"},
        {"of": {"answers_sha256": "0" * 64}},
    ):
        with subtests.test(str(told)):
            changed(refined, refined={**about, **told})
            assert refusal(refined).startswith(f"'{refined}' contradicts itself: refined ")


def test_refined_answers_are_those_of_counts(tmp_path, subtests, monkeypatch):
    """By the workload; alone figures are compared with one another, as those of all answers."""
    release = released(3).refine(totals=20)
    about = release.manifest["refined"]
    assert about["objective"] > 1e-3
    folder = release.save(tmp_path / "out")
    read = load_release(folder, ASKED)
    assert read.answers["refined"].min() >= 0 and "refined" not in read.unchecked
    with monkeypatch.context() as m:
        m.setattr("scipy.optimize.linprog", lambda *a, **k: SimpleNamespace(success=False))
        assert "refined" in load_release(folder, ASKED).unchecked, "HiGHS does not say"
    for name, told in [
        ("total", {"totals": [{"of": "all rows", "value": 21.0}]}),
        ("query", {"totals": [{"of": "query 8", "value": 20.0}]}),
        ("label", {"totals": [{"of": "'sex=X'", "value": 20.0}]}),
        ("text", {"totals": [{"of": "people", "value": 20.0}]}),
    ]:
        with subtests.test(name):
            changed(folder, refined={**about, **told})
            load_release(folder)
            assert refusal(folder, ASKED).startswith(f"'{folder}' contradicts itself: ")
    gap = gap_between(about["objective"], 0.0)
    for told in {"bound": 0.0, "gap": gap}, {"standard_errors_from_best": 1e-9}:
        changed(folder, refined={**about, **told})
        assert "contradicts itself: refined standard_errors_from_best is " in refusal(folder)
    off = release.answers["refined"] - np.eye(8)[0] * (1 + release.answers["refined"][0])
    moved = (off - release.answers["estimate"]) / release.answers["standard_error"]
    objective, bound = float(moved @ moved), about["bound"]
    told = {"objective": objective, "gap": gap_between(objective, bound), "standard_errors_from_best": 1e3}
    other = replace(release, manifest={**release.manifest, "refined": {**about, **told}})
    below = with_columns(other, tmp_path / "below", refined=off)
    load_release(below)
    assert "standard errors from those of any counts, 0 or above" in refusal(below, ASKED)


def with_columns(release: Release, folder: Path, **columns: object) -> Path:
    own = {name: release.answers[name] for name in release.answers.names}
    found = Frame({**own, **columns}, release.answers.metadata)
    return replace(release, answers=found).save(folder)


def test_answers_are_those_of_their_queries_with_intervals(tmp_path, subtests, monkeypatch):
    """Labels and widths are those of the workload and the plan; without them, answers are numbers inside
    their intervals."""
    monkeypatch.setattr(private_release, "has_matplotlib", lambda: False)  # infinity has no place in a chart
    release = released(3)
    own = {name: release.answers[name] for name in release.answers.names}
    swapped = own["label"][[1, 0, *range(2, 8)]]
    for name, change, is_seen_alone in [
        ("label", {"label": swapped}, False),
        ("query", {"query": np.array(["x"] * 8, dtype=object)}, False),
        ("sex", {"sex": np.array(["M"] * 8, dtype=object)}, False),
        ("low", {"low": own["estimate"], "high": own["estimate"]}, False),
        ("high", {"high": own["high"] * (1 + 1e-3)}, False),
        ("coverage", {"coverage": own["coverage"] + 1e-4}, False),
        ("low above", {"low": own["high"] + 1}, True),
        ("estimate", {"estimate": own["estimate"] + 1e6}, True),
        ("below", {"estimate": own["estimate"] - 1e6}, True),
        ("endless", {"high": own["high"] + math.inf}, True),
        ("NaN", {"estimate": own["estimate"] * math.nan}, True),
        ("covered", {"coverage": own["coverage"] + 4}, True),
        ("less", {"coverage": own["coverage"] - 0.1}, True),
    ]:
        with subtests.test(name):
            folder = with_columns(release, tmp_path / name, **change)
            if is_seen_alone:
                assert refusal(folder) == f"the answers in '{folder}' cannot be read{HINT}"
                continue
            if name == "coverage":
                least = float(change["coverage"].min())
                accuracy = {
                    **release.manifest["accuracy"],
                    "coverage": {"least": least, "largest": least, "kind": ""},
                }
                changed(folder, accuracy=accuracy)
            assert load_release(folder).plan is None
            assert refusal(folder, ASKED) == (
                f"'{folder}' contradicts itself: the column {name} of its answers is not that which follows "
                f"from its queries, strategy and noise{CHANGED}"
            )


def test_a_release_with_an_exact_total_is_refined_and_read_back_and_so_is_one_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = {
        "domain": {"sex": {"values": ["F", "M"]}, "age": {"bins": [0, 18, 65, 120]}},
        "workload": [{"marginal": ["sex", "age"]}, {"product": {}}],
        "neighbours": "replace-one",
    }
    people = {"sex": ["F", "M", "F"] * 40, "age": [17, 30, 70, 3] * 30}
    released = mmopt.release(people, described, {"rho": 1.0}, simulate=1)
    assert released.answers["standard_error"][-1] == 0.0 and released.answers["estimate"][-1] == 120
    assert "the number of rows of this table" in released.manifest["privacy"]["not_covered"]
    for number, options in enumerate(({}, {"totals": 120}, {"totals": 120, "whole": True})):
        folder = released.refine(**options).save(tmp_path / str(number))
        again = load_release(folder, described)
        assert again.answers["refined"][-1] == 120
        assert again.manifest["refined"]["totals"] == [{"of": "all rows", "value": 120.0}]
    with pytest.raises(OptionError, match="count the same rows, and their totals are 120 and 119"):
        released.refine(totals={"everyone": 119})
    with pytest.raises(
        OptionError, match="the total of all rows is 119, and released answers without noise say 120"
    ):
        released.refine(totals=119)
    # Few rows, so that noise is often below 0: the total stays.
    few = mmopt.release({"sex": ["F"] * 3, "age": [17] * 3}, described, {"rho": 0.01}, simulate=1)
    assert (few.answers["estimate"] < 0).any()
    assert few.refine().answers["refined"][-1] == few.refine(whole=True).answers["refined"][-1] == 3
    alone = {**described, "workload": [{"product": {}}]}
    for privacy in ({"rho": 1.0}, {"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}):
        total = mmopt.release(people, alone, privacy)
        assert total.manifest["privacy"]["rho"] in (0.0, None) and total.answers["coverage"][0] == 1.0
        again = load_release(total.refine().save(tmp_path / "-".join(privacy)), alone)
        assert again.answers["estimate"][0] == again.answers["refined"][0] == 120
    # As earlier versions measured it: with noise on the total, too.
    rounding = partial(round_any, uses_total=False)
    monkeypatch.setattr("mmopt.mechanism.release_plan.round_any", rounding)
    before = mmopt.release(people, described, {"rho": 1.0}, simulate=1)
    monkeypatch.undo()
    assert before.answers["standard_error"][-1] > 0.0
    again = load_release(before.save(tmp_path / "before"), described)
    assert again.plan is not None and not np.any(again.plan.integer.of_total)
