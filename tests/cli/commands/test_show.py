"""``mmopt show`` and ``mmopt check`` print what is known before anything is solved."""

from pathlib import Path
from typing import Any

from edited_programs import edited

from mmopt.answers import load_release
from mmopt.language import Program
from mmopt.report.accuracy_release_and_ledger_tables import NOISE_ALONE


def test_show_a_program_names_the_command_that_explains_it(run: Any, refused: Any, files: Path) -> None:
    (files / "own.program").write_text(Program.load("augment").text, encoding="utf-8")
    for name in ("l2_strategy", "own.program"):
        error, hint = refused("show", name).split("\n")
        assert error == f"error: '{name}' is a program"
        done = run(*hint.removeprefix("  write: mmopt ").split())
        assert (done.status, done.err) == (0, "") and "The program" in done.out
    assert refused("show", "nothing").startswith("error: there is no folder 'nothing'")


def test_explain_says_which_cones_a_solver_lacks(run: Any, files: Path) -> None:
    for name, step, lacks in (
        ("l2_strategy", "With the workload: ", {"psd"}),
        ("eigen_design", "Step 'weighting': query_weighting\n", {"second-order"}),
        ("fitness_softmax", "Step 'fit': softmax_step\n", set()),
    ):
        out = run("explain", name, files / "targets.yaml").out
        assert step in out
        assert {kind for kind in ("psd", "second-order") if f"lacks the {kind} cone" in out} == lacks


def test_explain_reports_what_would_be_refused(run: Any, files: Path) -> None:
    (files / "large.yaml").write_text(
        "domain: {a: {range: [0, 1024], width: 1}}\nworkload: [{product: {a: prefix}}]\n", encoding="utf-8"
    )
    done = run("explain", "min_error", "large.yaml")
    assert done.status == 0
    assert "'min_error' with scs would need about " in done.out and "the limit here is " in done.out


def test_check_a_workload(run: Any, files: Path) -> None:
    done = run("check", "total.yaml")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert lines[0] == "total.yaml: 5 queries over 6 cells"
    for line in (
        "sex sex 2 values F; M refuse",
        "cells 2 x 3 = 6",
        "queries as a matrix 240 B; as factors in code, 32 B of numbers",
        "by sex 2 1 sex=F; sex=M",
        "up to an age 3 2 age < 18; age < 65; …",
        "privacy epsilon = 1, delta = 1e-06",
        "neighbours add-remove: tables that differ by one row added or removed",
        "default program l2_strategy (Gaussian noise) or l1_strategy or p_identity",
    ):
        assert line in lines, line
    names = [line.split("  ")[0] for line in done.out.splitlines()]
    order = ("queries", "attribute", "default program", "privacy", "neighbours", "cells", "hash")
    assert sorted(order, key=names.index) == list(order)
    assert "order row-major, last attribute fastest: cell 0 is (F, [0, 18))" in " ".join(lines)


def test_check_says_why_the_default_program_is_what_it_is(run: Any, files: Path) -> None:
    text = " ".join(run("check", "targets.yaml").out.split())
    assert "default program fitness_for_use: every query has an accuracy target" in text
    assert "privacy not given" in text
    weak = (files / "total.yaml").read_text(encoding="utf-8").replace("epsilon: 1.0", "epsilon: 1000")
    (files / "weak.yaml").write_text(weak, encoding="utf-8")
    text = " ".join(run("check", "weak.yaml").out.split())
    assert "warning epsilon 1000 gives no protection in practice" in text


def test_check_prints_the_order_of_cells(run: Any, files: Path) -> None:
    assert run("check", "total.yaml", "--cells").out == (
        "# cells in row-major order: the last attribute varies fastest\n"
        "cell\tsex\tage\n"
        "0\tF\t[0, 18)\n1\tF\t[18, 65)\n2\tF\t[65, 115)\n3\tM\t[0, 18)\n4\tM\t[18, 65)\n5\tM\t[65, 115)\n"
    )


def test_check_finds_a_wrong_certificate(run: Any, files: Path) -> None:
    text = Program.load("l2_strategy").text
    assert text.count("**2 / sum(d)") == 1
    (files / "own.program").write_text(text.replace("**2 / sum(d)", "**2 / sum(d) * 2"), encoding="utf-8")
    done = run("check", "own.program", "--seed", "1", "--instances", "1")
    assert done.status == 2
    assert "the certificate of 'l2_strategy' is not a lower bound" in done.out
    assert done.err.startswith("error: the certificate of 'l2_strategy' is not a lower bound: instance 0 (")
    assert done.err.endswith("\n  repeat this test with --seed 1 --instances 1\n")


def test_check_seeks_points_that_the_repair_would_hide(run: Any, files: Path) -> None:
    (files / "own.program").write_text(edited("l2_strategy", ("diag(X) <= 1", "diag(X) <= 2")).text)
    done = run("check", "own.program", "--seed", "1", "--instances", "1")
    assert done.status == 2 and "is not a lower bound" in done.err


def test_check_says_that_it_could_not_test(run: Any, files: Path) -> None:
    needs = ("workload.root ", "workload.root\n    Q: matrix[3, 2] ")
    text = edited("l2_strategy", needs, ("choose\n", "require\n    never: sum(W * W) <= -1\nchoose\n")).text
    (files / "own.program").write_text(text)
    done = run("check", "own.program", "--seed", "1", "--instances", "1")
    assert done.status == 2 and "was not tested, so nothing is known about it" in done.err


def test_check_takes_givens(run: Any) -> None:
    done = run("check", "query_weighting", "--given", "Q=identity", "--instances", "2")
    assert done.status == 0 and "weak duality of 'query_weighting' holds" in done.out


def test_show_a_release_and_what_is_wrong_with_it(run: Any, refused: Any, files: Path, saved: Path) -> None:
    arguments = ("release", "total.yaml", "people.csv", "--strategy", saved, "--simulate", 7, "--out", "out")
    assert run(*arguments).status == 0
    done = run("show", "out")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    words = " ".join(done.out.split())
    rows = dict(load_release("out").rows())
    assert rows["workload"] == "5 queries over 6 cells, 'total.yaml'"
    for said in (
        *(f"{name} {text}" for name, text in rows.items()),
        "files answers.csv, answers.parquet, answers.svg, strategy.npz: as the manifest lists them",
        "query answer standard error 95% interval",
        "by sex sex=F ",
    ):
        assert said in words, (said, words)
    assert words.startswith(
        "not private SIMULATED NOISE: these answers are not private and must not be published "
        f"{NOISE_ALONE} query answer"
    )
    answers = files / "out" / "answers.csv"
    answers.write_text(answers.read_text(encoding="utf-8").replace("by sex", "by age"), encoding="utf-8")
    assert refused("show", "out").startswith(
        "error: 'out/answers.csv' is not the file that was released: its"
    )
    (files / "empty").mkdir()
    assert refused("show", "empty") == (
        "error: 'empty' is not a release: it has no manifest.json\n"
        "  name a folder that 'mmopt release --out' or Release.save wrote"
    )


def test_show_a_saved_solution(run: Any, saved: Path) -> None:
    done = run("show", saved)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("program      l2_strategy: ") and "objective" in done.out
    assert "Iterations: the solver's own count where not certified" in " ".join(done.out.split())
    assert done.out.rstrip().endswith("certified")
    missing = run("show", saved.with_name("no.npz"))
    assert missing.err == f"error: there is no saved solution '{saved.with_name('no.npz')}'\n"
