"""Small files that ask for very much, or for nothing that makes sense: a named error, never a bug."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmopt import limits
from mmopt.errors import ProgramError
from mmopt.language import Program, program_names
from mmopt.proof import bound_of

PROGRAM = """\
program own
title "own"
source "none"
given
    W: matrix[m, n] = workload.matrix
parameter
    t = 1
{parameters}
let
    c = 1
{lets}
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    sensitivity: diag(X) <= 1
{constraints}
repair
    X = X / max(diag(X))
strategy
    factor(X) norm 2
"""
STEPS = """\
program own
title "own"
source "none"
class procedure
given
    W: matrix[m, n] = workload.matrix
steps
    fit = solve(l2_strategy)
    A = fit.strategy
    repeat {times}:
        A = {step}
minimize
    sum(A * A)
strategy
    A norm 2
bound
    l2_strategy
"""
CHAIN = "\n".join(["    Z0 = X", *(f"    Z{i} = Z{i - 1} + X" for i in range(1, 800))])


def own(parameters: str = "", lets: str = "", constraints: str = "") -> str:
    return PROGRAM.format(parameters=parameters, lets=lets, constraints=constraints)


REFUSED = {
    "a product that wraps around": (
        own(f"    k: dim = {'*'.join(['n'] * 70)} + 5"),
        "own.program:8:5: the dimension 'k' is more than 2**53, 9,007,199,254,740,992",
    ),
    "a dimension beyond doubles": (own("    k: dim = 1e19"), "the dimension 'k' is more than 2**53"),
    "a power of powers": (own("    k = 9**9**9**9"), "the parameter 'k' is one finite number, not inf"),
    "terms of a dimension": (
        own(
            "\n".join(f"    k{i}: dim = {i + 1}" for i in range(9))
            + f"\n    k: dim = {'*'.join(['(k0+k1+k2+k3+k4+k5+k6+k7+k8)'] * 9)}"
        ),
        "a dimension of more than 1000 terms when it is multiplied out",
    ),
    "many ones": (
        own(lets="    d = sum(ones(400000000))"),
        "own.program:11:5: the vector of ones has 400,000,000",
    ),
    "a large identity": (
        own("    k: dim = 100000", "    d = sum(eye(k))"),
        "the identity matrix has 100,000 × 100,000",
    ),
    "a large product": (
        own("    k: dim = 100000", "    e = [[ones(k)]] @ [[ones(k)]].T\n    d = sum(e)"),
        "the product of two matrices has 100,000 × 100,000",
    ),
    "a stack that doubles": (STEPS.format(times=40, step="stack(A, A)"), "own.program:11:9: the "),
    "more steps than can be counted": (
        STEPS.format(times="1e19", step="A * 1"),
        "a whole number of times, at most 2**53",
    ),
    "a chain of lets": (
        own(lets=CHAIN),
        "more than 100 operations inside each other when every 'let' is put in",
    ),
    "a line that cannot hold": (own(constraints="    odd: 3 <= 2"), "requires 'odd' of its data"),
    "an index that is not there": (own(lets="    d = W[0, n]"), "this index may be beyond the entries"),
    "a group of none": (
        own(lets="    d = sum(consecutive(ones(n), 8 * -1))"),
        "the size of this group is -8",
    ),
}


def test_refused(files: Path, run: Any, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 2**26)
    for name, (text, message) in REFUSED.items():
        with subtests.test(name):
            (files / "own.program").write_text(text, encoding="utf-8")
            done = run("solve", "total.yaml", "--program", "own.program")
            assert (done.status, done.out) == (2, "") and message in done.err, done


def chain(start: str, count: int) -> str:
    """So many lets, each made of the one before."""
    return "\n".join([f"    Z1 = {start}", *(f"    Z{i} = Z{i - 1} + {start}" for i in range(2, count + 1))])


def test_chains_of_lets(files: Path, run: Any, subtests: pytest.Subtests) -> None:
    """Up to 100 operations of what is chosen, one of them in the line; any number of what is given."""
    refusal = "more than 100 operations inside each other when every 'let' is put in"
    for start, count, is_fine in (("X", 99, True), ("X", 100, False), ("c", 400, True)):
        line = f"    deep: trace({'X * ' * (start == 'c')}Z{count}) >= 0"
        (files / "own.program").write_text(own(lets=chain(start, count), constraints=line), encoding="utf-8")
        for command in (
            ("check", "own.program"),
            ("explain", "own.program"),
            ("solve", "total.yaml", "--program", "own.program"),
            ("compare", "total.yaml", "--programs", "own.program"),
        ):
            with subtests.test(start, count=count, command=command[0]):
                done = run(*command)
                assert (done.status == 0) == is_fine, done
                assert (refusal in done.out + done.err) != is_fine
        with subtests.test(start, count=count, command="bound"):
            program = Program.load(files / "own.program")
            values = {"sensitivity": [1.0, 1.0], "deep": 0.0}
            try:
                words = str(bound_of(program, [[1.0, 1.0]], values, point={"X": np.eye(2)}).bound)
            except ProgramError as error:
                words = str(error)
            assert words == "0.0" if is_fine else refusal in words


def test_endless_steps(files: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRACE", 0.0)
    (files / "own.program").write_text(STEPS.format(times=1000000000, step="A * 1"), encoding="utf-8")
    done = run("solve", "total.yaml", "--program", "own.program", "--time-limit", "0.3")
    assert (done.status, done.out) == (2, ""), done
    assert "this takes longer than" in done.err


def test_a_line_on_nothing_that_is_chosen(files: Path, run: Any) -> None:
    lines = (
        "    odd: W == W\n    even: 1 <= 2\n    each: W[j, 0] <= W[j, 0] + 1 for j in m\n    psd: eye(n) >> 0"
    )
    (files / "own.program").write_text(own(constraints=lines), encoding="utf-8")
    found = run("solve", "total.yaml", "--program", "own.program", "--json")
    assert found.status == 0, found
    plain = json.loads(run("solve", "total.yaml", "--program", "l2_strategy", "--json").out)
    assert json.loads(found.out)["error"] == pytest.approx(plain["error"], rel=1e-5)


def has_no_controls(text: str) -> bool:
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def rewritten(path: Path, change: Any, **arrays: Any) -> Path:
    """A saved file with another record, and with other arrays."""
    with np.load(path) as archive:
        known = {name: archive[name] for name in archive.files}
    record = json.loads(bytes(known["record.json"]))
    change(record["record"], known)
    known["record.json"] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    changed = Path("changed.npz")
    np.savez_compressed(changed, **known, **arrays)
    return changed


def test_no_control_character_reaches_the_terminal(files: Path, saved: Path, run: Any) -> None:
    (files / "escape.yaml").write_bytes(b"domain: {a: {values: [x, y]}}\n# \x1b[31m \xff\nworkload: []\n")
    done = run("check", "escape.yaml")
    assert done.status == 2 and "byte 0xFF" in done.err and has_no_controls(done.err)

    def disguise(record: Any, arrays: Any) -> None:
        record["program"] = record["status"]["mapping"]["stop"] = "\x1b[2J\u009b31m\u202e"

    changed = rewritten(saved, disguise)
    for command in (["verify", changed, "total.yaml"], ["verify", changed, "total.yaml", "--json"]):
        done = run(*command)
        assert done.status in (1, 2) and has_no_controls(done.out + done.err)
    assert "\\u001b[2J" in done.out + done.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is full")
def test_a_full_disk() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        line = [sys.executable, "-m", "mmopt", "--version"]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**400, 2**63, 1e308, "", "x", "\x1b[31m", [], {}, [[]]),
    *({"float": "inf"}, {"float": "x"}, {"array": "none"}, {"array": ["x"]}, {"mapping": {}}),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """All that a record holds, by its holder and key."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def test_saved_files_with_other_values(rng: np.random.Generator, files: Path, saved: Path, run: Any) -> None:
    draw = random.Random(int(rng.integers(2**32)))

    def change(record: Any, arrays: Any) -> None:
        name = draw.choice([name for name in arrays if name != "record.json"])
        array = arrays[name]
        others = [array[..., None], array.ravel()[:0], array * np.nan, array.astype("U3"), -array, array]
        arrays[name] = draw.choice(others)
        if draw.random() < 0.75:
            holder, key = draw.choice(places(record))
            holder[key] = draw.choice(VALUES)

    for _ in range(5):
        changed = rewritten(saved, change, **({"extra": np.zeros(9)} if draw.random() < 0.1 else {}))
        done = run("verify", changed, "total.yaml")
        assert done.status in (0, 1, 2) and has_no_controls(done.out + done.err), done


WORDS = (
    *("0", "-1", "1e300", "1e19", "n", "X", "W", "inv(X)", "eye(n)", "ones(n**2)", "W[0, :]", "X[n, n]"),
    *("0/0", "rank(X)", "[[X, X], [X, X]]", "j", "X**3", "X @ X"),
)
CODE = re.compile(r"[A-Za-z_]\w*|\d+|[-+*/@<>=]+")


def test_programs_with_other_words(rng: np.random.Generator, files: Path, run: Any) -> None:
    draw = random.Random(int(rng.integers(2**32)))
    for _ in range(4):
        lines = Program.load(draw.choice(program_names())).text.split("\n")
        for _ in range(draw.choice((1, 1, 2, 3))):
            at = draw.choice([i for i, text in enumerate(lines) if text[:4] == "    " and CODE.search(text)])
            found = draw.choice(list(CODE.finditer(lines[at])))
            lines[at] = lines[at][: found.start()] + draw.choice(WORDS) + lines[at][found.end() :]
        (files / "own.program").write_text("\n".join(lines), encoding="utf-8")
        done = run("solve", "targets.yaml", "--program", "own.program", "--time-limit", "0.5")
        assert done.status in (0, 2), (lines, done)


SCALARS = (
    *(b"0", b"-1", b"1e400", b"99999999999999999999", b".nan", b"null", b"[]", b"{}", b"prefix", b"haar"),
    *(b"*a", b"!!x", b"\xff", b"\x1b[2J", b"{hierarchy: 1000000}"),
)


def test_workload_files_with_other_values(rng: np.random.Generator, files: Path, run: Any) -> None:
    draw = random.Random(int(rng.integers(2**32)))
    for _ in range(6):
        text = (files / draw.choice(("total.yaml", "targets.yaml"))).read_bytes()
        for _ in range(draw.choice((1, 1, 2, 3))):
            found = draw.choice(list(re.finditer(rb"[\w.-]+|[\[\]{}:,]", text)))
            text = text[: found.start()] + draw.choice(SCALARS) + text[found.end() :]
        (files / "other.yaml").write_bytes(text)
        done = run("check", "other.yaml")
        assert done.status in (0, 2) and has_no_controls(done.out + done.err), (text, done)
