"""``mmopt release`` from end to end, and everything that it refuses.

Guards accuracy_release_simulate.py.
"""

import csv
import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from edited_programs import edited

from mmopt import Solution, solve, verify
from mmopt.cli.commands.accuracy_release_simulate import CERTIFICATE
from mmopt.driver.templates import templates
from mmopt.mechanism.measured_and_simulated_releases import FIGURES
from mmopt.mechanism.release_writing import ANSWERS_FILE, MANIFEST_FILE
from mmopt.report.accuracy_release_and_ledger_tables import NOISE_ALONE
from mmopt.request import load_request

TRUTH = {"sex=F": 500, "sex=M": 307, "age < 18": 300, "age < 65": 800}
FACTS = "confidential, do not publish: 807 of 807 rows in the table are counted, none dropped\n"


def answers(folder: Path) -> dict[str, dict[str, float]]:
    with (folder / ANSWERS_FILE).open(encoding="utf-8", newline="") as lines:
        return {r["label"]: {k: float(r[k]) for k in FIGURES} for r in csv.DictReader(lines)}


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [value]


def test_a_wish_that_will_be_missed_is_refused_unless_it_is_meant(
    run: Any, refused: Any, files: Path
) -> None:
    """Also what check says is not covered is what the manifest says."""
    text = (files / "total.yaml").read_text(encoding="utf-8")
    asked = text.replace("workload:\n", "workload:\n  - {name: everyone, product: {}, within: 0.001}\n")
    (files / "wished.yaml").write_text(asked, encoding="utf-8")
    arguments = ("release", "wished.yaml", "people.csv", "--program", "l2_strategy")
    said = refused(*arguments, "--out", "out")
    assert "missed by 1 of 1 in 'everyone' (± 0.001 at 95%)\n  no row was read, nothing is spent" in said
    assert not (files / "out").exists()
    done = run(*arguments, "--anyway", "--out", "out")
    assert done.status == 0 and "missed targets" in done.out and "1 missed" in done.out
    for out in (done.out, run("show", "out").out):
        said = " ".join(out.split())
        assert "missed targets 1 of 1 in 'everyone' (± 0.001 at 95%)" in said
        assert "allowed epsilon = 1, delta = 1e-06" in said
    not_covered = json.loads((files / "out" / MANIFEST_FILE).read_text(encoding="utf-8"))["privacy"][
        "not_covered"
    ]
    for each in (done.out, run("check", "wished.yaml").out):
        assert not_covered in " ".join(each.split())


def test_release_with_real_noise(run: Any, files: Path) -> None:
    done = run("release", "total.yaml", "people.csv", "--program", "l2_strategy", "--out", "out")
    assert done.status == 0, done
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.err.endswith(FACTS) and "in the table" not in done.out, (
        "facts about the data go to stderr alone"
    )
    found = answers(files / "out")
    # Six standard errors of discrete Gaussian noise: missed once in 10^8 runs.
    for label, count in TRUTH.items():
        assert abs(found[label]["estimate"] - count) < 6 * found[label]["standard_error"]
    manifest = json.loads((files / "out" / MANIFEST_FILE).read_text(encoding="utf-8"))
    assert manifest["private"] is True and manifest["program"]["name"] == "l2_strategy"
    assert manifest["solution"]["bound"] <= manifest["solution"]["objective"]
    assert manifest["workload_file"]["name"] == "total.yaml"
    names = sorted(path.name for path in (files / "out").iterdir())
    assert names == sorted([*manifest["files"], MANIFEST_FILE])
    assert run("verify", "out/strategy.npz", "total.yaml").status == 0
    assert 807 not in leaves(manifest), "no exact fact about the data is published"
    shown = " ".join(done.out.split())
    for words in (
        "epsilon = 1 at delta = 1e-06",
        "neighbours add-remove: tables that differ by one row added or removed",
        "theorem analytic Gaussian mechanism (Balle and Wang 2018, Theorem 8)",
        "standard error of queries least rms largest ± 95%",
        "query answer standard error 95% interval",
        "5 answers: out/answers.csv",
        "read it back: mmopt show out",
    ):
        assert words in shown, words


def test_simulated_release_repeats_and_is_marked(run: Any, files: Path, saved: Path) -> None:
    arguments = ("release", "total.yaml", "people.csv", "--strategy", saved, "--simulate", 7)
    arguments += ("--confidence", "0.5")
    first, second = run(*arguments, "--out", "a"), run(*arguments, "--out", "b")
    assert first.status == second.status == 0
    assert first.err == f"strategy: from '{saved}' (l2_strategy, gap reached)\n{FACTS}"
    assert " ".join(first.out.split()).startswith(
        "not private SIMULATED NOISE: these answers are not private and must not be published "
        f"{NOISE_ALONE} query answer"
    )
    assert "50% interval" in first.out
    assert (files / "a" / ANSWERS_FILE).read_bytes() == (files / "b" / ANSWERS_FILE).read_bytes()
    manifest = json.loads((files / "a" / MANIFEST_FILE).read_text(encoding="utf-8"))
    assert (manifest["private"], manifest["simulation_seed"]) == (False, 7)


def test_release_as_json(run: Any, files: Path, saved: Path) -> None:
    done = run("release", "total.yaml", "people.csv", "--strategy", saved, "--simulate", 7, "--json")
    found = json.loads(done.out)
    assert found["out"] == "release" and all(Path(path).is_file() for path in found["files"].values())
    assert list(found["files"]) == ["answers", "parquet", "chart", "strategy", "manifest"]
    assert found.keys() >= {"private", "privacy", "noise", "accuracy", "program", "solution"}
    assert done.err.endswith("SIMULATED NOISE: these answers are not private and must not be published\n")


def test_epsilon_alone_gets_laplace_noise(run: Any, refused: Any, files: Path, saved: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "pure.yaml").write_text(text.replace(", delta: 1.0e-6", ""), encoding="utf-8")
    done = run("release", "pure.yaml", "people.csv", "--out", "out")
    assert done.status == 0, done
    assert (
        "; Gaussian noise satisfies no pure epsilon (choose another with --program; program= in Python)\n"
        in done.err
    )
    assert done.err.startswith("chosen: p_identity with Laplace noise: rmse ")
    assert max(map(len, done.out.splitlines())) <= 80
    found = answers(files / "out")
    for label, count in TRUTH.items():
        assert abs(found[label]["estimate"] - count) < 30 * found[label]["standard_error"]
    shown = " ".join(done.out.split())
    assert "privacy cost epsilon = 1, pure (delta = 0)" in shown
    assert "discrete Laplace, of scale 1 on the strategy's queries" in shown
    manifest = json.loads((files / "out" / MANIFEST_FILE).read_text(encoding="utf-8"))
    assert manifest["privacy"]["guarantee"] == "pure epsilon"
    assert run("solve", "pure.yaml", "--out", "pure.npz").status == 0
    assert run("release", "pure.yaml", "people.csv", "--strategy", "pure.npz", "--out", "again").status == 0
    hint = (
        "Gaussian noise satisfies no pure epsilon: give a delta in (0, 1), or rho; or solve a program for "
        "Laplace noise: l1_strategy, p_identity, laplace_weighting (weighs a baseline: --given Q=haar, in "
        "Python givens={'Q': 'haar'}) or min_error"
    )
    message = "error: 'pure.yaml' asks for pure epsilon (no delta), and 'l2_strategy' is for Gaussian noise"
    assert refused("release", "pure.yaml", "people.csv", "--program", "l2_strategy") == f"{message}\n  {hint}"
    assert refused("release", "pure.yaml", "people.csv", "--strategy", saved).endswith(f"{message}\n  {hint}")
    (files / "rho.yaml").write_text(text.replace("epsilon: 1.0, delta: 1.0e-6", "rho: 1.0"), encoding="utf-8")
    assert refused("release", "rho.yaml", "people.csv", "--strategy", "pure.npz").endswith(
        "error: privacy is rho = 1 (zCDP), and Laplace noise (a strategy of norm 1) needs an epsilon\n"
        "  give epsilon (delta is not used then), or solve a program for Gaussian noise: l2_strategy"
    )


def test_targets_set_the_noise_without_privacy_parameters(run: Any, files: Path) -> None:
    done = run("release", "targets.yaml", "people.csv", "--out", "out")
    assert done.status == 0, done
    assert "set by the targets (max_variance)" in done.out
    found = answers(files / "out")
    assert found["sex=F"]["standard_error"] <= 10.0
    assert all(row["standard_error"] <= 200.0**0.5 for row in found.values())


def test_targets_that_cost_too_much_are_refused_before_data_is_read(run: Any, files: Path) -> None:
    text = (files / "targets.yaml").read_text(encoding="utf-8")
    (files / "targets.yaml").write_text(f"{text}privacy: {{rho: 0.001}}\n", encoding="utf-8")
    # A row without a cell would be refused too, were it read.
    (files / "people.csv").write_text("sex,age\nX,-1\n", encoding="utf-8")
    done = run("release", "targets.yaml", "people.csv", "--out", "out")
    assert (done.status, done.out) == (2, "")
    error = done.err
    assert error.startswith("error: the targets cost rho 0.0")
    assert ", privacy allows rho 0.001\n  multiply every max_variance by " in error
    assert not (files / "out").exists()


def test_dropped_rows_are_told_to_the_owner_only(run: Any, files: Path, saved: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "total.yaml").write_text(
        text.replace("values: [F, M]", "values: [F, M], outside: drop"), encoding="utf-8"
    )
    (files / "people.csv").write_text("sex,age\nF,30\nX,30\nX,20\n", encoding="utf-8")
    done = run(
        "release", "total.yaml", "people.csv", "--program", "l2_strategy", "--simulate", 1, "--out", "out"
    )
    assert done.status == 0, done
    assert done.err.endswith("publish: 1 of 3 rows in the table are counted, 2 dropped (2 by 'sex')\n")
    assert "dropped" not in (files / "out" / MANIFEST_FILE).read_text(encoding="utf-8")


def test_one_file_serves_a_table_of_a_database_and_a_file(run: Any, files: Path, saved: Path) -> None:
    with duckdb.connect(str(files / "all.duckdb")) as database:
        database.execute("CREATE TABLE people AS FROM 'people.csv'; CREATE TABLE others (x INTEGER)")
    words = ("--strategy", saved, "--simulate", "1")
    assert run("release", "total.yaml", "all.duckdb", "--table", "people", *words, "--out", "one").status == 0
    assert run("release", "total.yaml", "people.csv", *words, "--out", "two").status == 0
    answers = [(files / name / "answers.csv").read_bytes() for name in ("one", "two")]
    assert answers[0] == answers[1]


def test_rows_without_a_cell_are_refused(files: Path, run: Any, saved: Path) -> None:
    (files / "people.csv").write_text("sex,age\nF,30\nX,30\n", encoding="utf-8")
    done = run("release", "total.yaml", "people.csv", "--strategy", saved, "--out", "out")
    assert done.status == 2 and not (files / "out").exists()
    assert "error: people.csv: rows without a cell, of 2 (confidential, do not publish):" in done.err


def test_a_forged_strategy_is_refused(
    run: Any, refused: Any, saved: Path, files: Path, subtests: pytest.Subtests
) -> None:
    for field, value in {
        "objective": 1.0, "bound": 0.5, "error": 0.01, "rmse": 0.01, "title": "the best of all"
    }.items():  # fmt: skip
        with subtests.test(field):
            dataclasses.replace(Solution.load(saved), **{field: value}).save(files / "forged.npz")
            message = refused("release", "total.yaml", "people.csv", "--strategy", "forged.npz")
            assert "error: 'forged.npz' does not hold: " in message
            assert "in the file, and recomputed" in message
            assert message.endswith("all checks: mmopt verify forged.npz total.yaml")
    assert run("templates", "total.yaml", "--templates", "identity", "--out", "t.npz").status == 0
    found = Solution.load("t.npz")
    dataclasses.replace(found, error_bound=found.error).save("t.npz")
    message = refused("release", "total.yaml", "people.csv", "--strategy", "t.npz")
    assert message.startswith("error: 't.npz' does not hold: error bound is ")
    assert run("verify", "t.npz", "total.yaml").status == 1


def test_what_a_file_says_unchecked_is_not_published(run: Any, saved: Path, files: Path) -> None:
    solution = Solution.load(saved)
    status = dataclasses.replace(solution.status, raw="OPTIMAL")
    forged = dataclasses.replace(solution, solver="an oracle", status=status, warnings=("trust me",))
    forged.save(files / "told.npz")
    done = run("release", "total.yaml", "people.csv", "--strategy", "told.npz", "--out", "out")
    assert done.status == 0, done
    manifest = json.loads((files / "out" / MANIFEST_FILE).read_text(encoding="utf-8"))
    assert manifest["solution"]["bound_grade"] == manifest["solution"]["objective_grade"] == "proved"
    assert not {"an oracle", "OPTIMAL", "trust me"} & set(map(str, leaves(manifest)))


def test_the_worse_of_stated_and_recomputed_is_published(run: Any, saved: Path, files: Path) -> None:
    """A file may be off by what another machine rounds, and not say more for it."""
    s, less = Solution.load(saved), 1 - 0.9e-9
    better = dataclasses.replace(
        s, error=s.error * less, rmse=s.rmse * less, sensitivity=s.sensitivity * less
    )
    better = dataclasses.replace(better, error_bound=min(s.error_bound, better.error), value=s.value * less)
    better.save(files / "less.npz")
    assert run("release", "total.yaml", "people.csv", "--strategy", "less.npz", "--out", "out").status == 0
    published = json.loads((files / "out" / MANIFEST_FILE).read_text(encoding="utf-8"))["solution"]
    for name in ("error", "rmse", "sensitivity", "value", "objective"):
        assert published[name] >= getattr(s, name) * (1 - 1e-12)


def test_a_negative_gap_is_refused(refused: Any, saved: Path, files: Path) -> None:
    s = Solution.load(saved)
    assert s.bound is not None
    near = max(s.objective, s.bound)
    gap = dataclasses.replace(s, objective=near * (1 - 0.4e-9), bound=near * (1 + 0.4e-9))
    for name, forged in {
        "gap": gap,
        "error bound": dataclasses.replace(s, error=s.error_bound * (1 - 0.4e-9)),
    }.items():
        forged.save(files / "forged.npz")
        rows = verify(forged, load_request("total.yaml").workload).failures
        assert name in [row.what for row in rows]
        refused("release", "total.yaml", "people.csv", "--strategy", "forged.npz")


def test_what_was_passed_is_published(run: Any, files: Path) -> None:
    w = load_request("total.yaml").workload
    solve(w, "l2_strategy", givens={"W": 1e-3 * w.root}).save(files / "w.npz")
    done = run("release", "total.yaml", "people.csv", "--strategy", "w.npz", "--out", "out")
    assert "givens" in done.out and "(claimed)" in done.out
    published = json.loads((files / "out" / MANIFEST_FILE).read_text(encoding="utf-8"))["solution"]
    assert published["givens"] == ["W"] and published["objective_grade"] == "claimed"


def test_a_program_with_its_own_sensitivity_is_refused(run: Any, refused: Any, files: Path) -> None:
    text = edited("l2_strategy", ("factor(X) norm 2", "2 * factor(X) norm 2"), called="own").text
    (files / "own.program").write_text(text, encoding="utf-8")
    message = refused("release", "total.yaml", "people.csv", "--program", "own.program")
    assert "the strategy of 'own' has largest column norm 2, not 1" in message
    assert run("solve", "total.yaml", "--program", "own.program", "--out", "own.npz").status == 0
    message = refused("release", "total.yaml", "people.csv", "--strategy", "own.npz")
    assert "the strategy of 'own' has largest column norm 2, not 1" in message
    text = edited("fitness_for_use", ("    Sigma on B", "    Sigma / 100 on B"), called="own").text
    (files / "own.program").write_text(text, encoding="utf-8")
    message = refused("release", "targets.yaml", "people.csv", "--program", "own.program")
    assert "the noise of 'own' has privacy cost" in message


def test_the_certificate_that_is_shown_has_all_its_rows(files: Path) -> None:
    """Its rows are picked by their names, which either kind of solution has to have."""
    w = load_request("total.yaml").workload
    dense, factored = solve(w, "l2_strategy", givens={"W": w.root}), templates(w, 2, ["identity"]).solution(w)
    names = {name for solution in (dense, factored) for name, _ in solution.rows()}
    assert names >= set(CERTIFICATE)


def test_a_strategy_of_another_workload_is_refused(refused: Any, saved: Path) -> None:
    message = refused("release", "targets.yaml", "people.csv", "--strategy", saved)
    assert message.startswith(f"error: '{saved}' was solved for another workload: its hash is ")
    assert message.endswith("…\n  solve this one: mmopt solve targets.yaml --out FILE.npz")


BAD_WORKLOADS = [
    (b"domain: {a: {values: [\xff]}}", "error: bad.yaml:1:23: byte 0xFF is not valid UTF-8\n"),
    (b"", "error: bad.yaml:1:1: the workload file is empty"),
    (b"domain: {a: {values: [x, y]}}\nworkload: [{marginal: [b]}]\n", "error: bad.yaml:2:24: "),
    (b"domain: {a: {values: [x, y]}}\nworkload: []\n", "error: bad.yaml:2:11: "),
    (
        b"domain: {a: {values: [x, y]}}\nworkload: [{marginal: [a], max_variance: 0}]\n",
        "error: bad.yaml:2:42: ",
    ),
    (b"[" * 100_000, "error: bad.yaml:1:"),
    (
        b"domain: {a: {values: [x, y]}}\nworkload: [{marginal: [a]}]\nprivacy: {epsilon: 0, delta: 0.1}\n",
        "error: bad.yaml:3:20: ",
    ),
    (b"#" * 10_000_000, "error: the workload file 'bad.yaml' is longer than 2 MiB\n"),
]


def test_bad_workload_files(refused: Any, files: Path, subtests: pytest.Subtests) -> None:
    for number, (content, message) in enumerate(BAD_WORKLOADS):
        (files / "bad.yaml").write_bytes(content)
        for command in ("check", "solve", "compare", "release")[number % 2 :: 2]:
            with subtests.test(message, command=command):
                table = ["people.csv"] if command == "release" else []
                assert refused(command, "bad.yaml", *table).startswith(message)


BAD_PROGRAMS = [
    (b"program p\xff", "error: bad.program:1:10: the byte 0xff is not UTF-8\n"),
    (b"", "error: bad.program:1:1: "),
    (b"program p\nminimise\n    1\n", "error: bad.program:2:1: "),
    (
        b"program p\nchoose\n    x: scalar\nminimize\n    " + b"(" * 100 + b"x" + b")" * 100,
        "error: bad.program:5:",
    ),
    (
        b"#" * 10_000_000,
        "error: bad.program:1:1: a program file of 10000000 bytes; at most 200000 are read\n",
    ),
]


def test_bad_program_files(refused: Any, files: Path, subtests: pytest.Subtests) -> None:
    for content, message in BAD_PROGRAMS:
        (files / "bad.program").write_bytes(content)
        for command in (
            ("check", "bad.program"),
            ("explain", "bad.program"),
            ("solve", "total.yaml", "--program", "bad.program"),
        ):
            with subtests.test(message, command=command[0]):
                assert refused(*command).startswith(message)


def test_without_matplotlib_the_chart_is_left_out(
    run: Any, files: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "matplotlib" else there(name, *more)
    )
    done = run("release", "total.yaml", "people.csv", "--strategy", saved, "--simulate", 7)
    assert done.status == 0
    assert done.err.endswith(f"{FACTS}no chart: matplotlib is not installed (pip install mmopt[chart])\n")
    names = ["answers.csv", "answers.parquet", "manifest.json", "strategy.npz"]
    assert sorted(path.name for path in (files / "release").iterdir()) == names
