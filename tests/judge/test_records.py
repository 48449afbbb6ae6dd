"""Saved files cannot be changed into a contradiction that is read: manifests and ledgers, by one edit.

Each is refused with a named error, or of what is said to be unchecked. What a manifest says is computed here
from its files, without the package.

Guards answers/read_and_recheck_folder.py.
"""

import hashlib
import io
import json
import math
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from judge.record_edits import KINDS, edited, is_listed, leaves, ledger_of, others, saved, statements

import mmopt
from mmopt.answers import load_release
from mmopt.workloads import Workload

# Places that answers, saved strategy and noise confirm, without the workload.
CHECKED = """\
format private files warning solution program
workload.queries strategy.norm
privacy.unit privacy.neighbours privacy.guarantee privacy.rho privacy.epsilon privacy.delta
noise.kind noise.sampler
accuracy.rmse accuracy.confidence accuracy.coverage.least accuracy.coverage.largest
refined.note refined.of refined.program""".replace("\n", " ").split(" ")

# The same of answers that are private: simulated ones may have the strategy of another workload.
OF_PRIVATE = ["workload.hash", "workload.cells"]

# Places that not even the workload confirms.
NEVER = """\
versions time chosen allowed simulation_seed privacy.set_by rows.null rows.spelling rows.weight
ledger.data_set ledger.entry ledger.part ledger.measure ledger.spent ledger.total ledger.left refined.gap
refined.counts refined.totals refined.objective refined.bound refined.grade refined.status refined.whole
refined.standard_errors_from_best""".replace("\n", " ").split(" ")

Saved = tuple[Path, Workload]


@pytest.fixture(scope="module", params=KINDS)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    return saved(request.param, tmp_path_factory.mktemp("record"))


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.some(6)
def test_a_manifest_says_what_follows_from_its_files(release: Saved) -> None:
    folder, workload = release
    said, table = manifest_of(folder), pq.read_table(folder / "answers.parquet")
    told = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    privacy, strategy, noise = said["privacy"], said["strategy"], said["noise"]
    errors, covered = (table[name].to_numpy() for name in ("standard_error", "coverage"))
    assert said["workload"]["queries"] == len(errors) == workload.m
    assert said["accuracy"]["rmse"] == pytest.approx(math.sqrt(math.fsum(errors**2) / len(errors)), rel=1e-11)
    for name, found in (("least", covered.min()), ("largest", covered.max())):
        assert found <= said["accuracy"]["coverage"][name] < found + 1e-5
    assert {str(privacy[key]) for key in ("rho", "epsilon", "delta")} - {"None"} <= set(told.values())
    is_pure = privacy["rho"] is None
    assert (strategy["norm"] == "L1") is is_pure is (privacy["guarantee"] == "pure epsilon")
    if said["private"]:
        assert noise["kind"] == ("discrete Laplace" if is_pure else "discrete Gaussian")
    assert strategy["rows"] == sum(part["rows"] for part in strategy["parts"])
    assert noise["scale_at_unit_strategy"] == noise["scale"] / 2.0 ** strategy["bits"]
    # Of one matrix the sensitivity is before its own noise, of several parts over it.
    own = strategy["parts"][0]["relative_noise"] if len(strategy["parts"]) == 1 else 1.0
    ratio = strategy["sensitivity"] / noise["scale"] / own
    cost = privacy["epsilon"] if is_pure else privacy["rho"]
    assert cost == pytest.approx(ratio if is_pure else ratio**2 / 2, rel=1e-9)
    for name, entry in said["files"].items():
        assert entry["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    with zipfile.ZipFile(folder / "strategy.npz") as file:
        record = json.loads(np.load(io.BytesIO(file.read("record.json.npy"))).tobytes())
    assert said["solution"]["workload" if "workload" in said["solution"] else "norm"]
    for name in {"objective", "bound", "value", "error_bound"} & said["solution"].keys() & record.keys():
        assert said["solution"][name] == record[name], name


@pytest.mark.some(6)
def test_what_is_unchecked_is_what_nothing_confirms(release: Saved) -> None:
    folder, workload = release
    alone, whole = (load_release(folder, asked).unchecked for asked in (None, workload))
    said = manifest_of(folder)
    checked = (*CHECKED, *(OF_PRIVATE if said["private"] else ()))
    for where, _ in leaves(said):
        place = ".".join(map(str, where))
        if is_listed(where, checked):
            assert not is_listed(where, alone), place
        if not is_listed(where, tuple(NEVER)):
            assert not is_listed(where, whole), place


def wrong_edits(folder: Path, workload: Workload | None, rng: np.random.Generator, most: int) -> list[str]:
    """Edits that were read though they contradict what confirms them, of so many random ones."""
    path, before = folder / "manifest.json", (folder / "manifest.json").read_bytes()
    said, found = json.loads(before), []
    unchecked = load_release(folder, workload).unchecked
    places = list(leaves(said))
    try:
        for number in rng.permutation(len(places))[:most]:
            where, value = places[number]
            to = others(value)[int(rng.integers(len(others(value))))]
            path.write_text(json.dumps(edited(said, where, to)), encoding="utf-8")
            try:
                load_release(folder, workload).rows()
            except mmopt.Error as error:
                assert str(folder) in str(error)
            else:
                if not is_listed(where, unchecked):
                    found.append(f"{where}: {value!r:.80} -> {to!r:.80}")
    finally:
        path.write_bytes(before)
    return found


@pytest.mark.some(6)
def test_an_edit_of_a_manifest_is_refused_or_of_what_is_unchecked(
    release: Saved, rng: np.random.Generator
) -> None:
    folder, workload = release
    assert wrong_edits(folder, None, rng, 40) == []
    assert wrong_edits(folder, workload, rng, 15) == []


def test_a_ledger_is_chained_from_what_it_declares_to_its_end(tmp_path: Path) -> None:
    """Each checksum is the SHA-256 of the one before it and its row, as JSON; the last is of their number."""
    path = ledger_of(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        *terms, own, seal = connection.execute(
            "SELECT data_set, measure, neighbours, partition, declared, created, checksum, seal FROM terms"
        ).fetchone()
        entries = connection.execute("SELECT * FROM entries ORDER BY number").fetchall()
    last = "mmopt ledger 2"
    for row, told in [(terms, own), *((row[:-1], row[-1]) for row in entries), ([len(entries)], seal)]:
        last = hashlib.sha256(json.dumps([last, *row]).encode()).hexdigest()
        assert last == told


def wrong_changes(path: Path, rng: np.random.Generator) -> tuple[int, list[str]]:
    """How many random changes of a ledger were made, and those that were read as another account."""
    before, account, found, count = path.read_bytes(), mmopt.Ledger.load(path).account, [], 0
    for statement, values in statements(path, rng):
        with closing(sqlite3.connect(path)) as connection:
            try:
                with connection:
                    for each in statement.split("; "):
                        connection.execute(each, values)
            except sqlite3.Error:  # the tables do not take it
                continue
        count += path.read_bytes() != before
        try:
            read = mmopt.Ledger.load(path).account
        except mmopt.LedgerError as error:
            assert str(path) in str(error)
        else:
            # A total may be lowered.
            lowered = read.terms.total < account.terms.total and read.entries == account.entries
            if read != account and not lowered:
                found.append(f"{statement} {values}")
        path.write_bytes(before)
    return count, found


@pytest.mark.quick
def test_a_change_of_a_ledger_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    count, found = wrong_changes(ledger_of(tmp_path), rng)
    assert count >= 40 and found == []
