"""Tiny workloads and tables, and a way to run the command line on them."""

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import called

from mmopt.language import Program
from mmopt.solvers import Clock

DOMAIN = """\
domain:
  sex: {values: [F, M]}
  age: {bins: [0, 18, 65, 115]}
"""
TOTAL_ERROR = f"""{DOMAIN}workload:
  - name: by sex
    marginal: [sex]
  - name: up to an age
    product: {{age: prefix}}
    weight: 2.0
privacy: {{epsilon: 1.0, delta: 1.0e-6}}
"""
TARGETS = f"""{DOMAIN}workload:
  - {{name: by sex, marginal: [sex], max_variance: 100.0}}
  - {{name: cells, marginal: [sex, age], max_variance: 200.0}}
"""
STEPS = """\
domain: {step: {range: [0, 6], width: 1}}
workload:
  - {name: up to a step, product: {step: prefix}, max_variance: 200.0}
"""
PEOPLE = "sex,age\n" + "F,30\n" * 500 + "M,12\n" * 300 + "M,70\n" * 7


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


Run = Callable[..., Done]


def invoke(*arguments: object) -> Done:
    result = called(*arguments)
    assert "Traceback" not in result.output
    return Done(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(scope="session")
def run() -> Run:
    return invoke


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, the current one, with two workloads and a table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "total.yaml").write_text(TOTAL_ERROR, encoding="utf-8")
    (tmp_path / "targets.yaml").write_text(TARGETS, encoding="utf-8")
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def file_for(files: Path) -> Callable[[str], str]:
    """The workload file, of 6 cells with targets, that a program takes: of steps if it is about them."""

    def chosen(program: str) -> str:
        neighbours = Program.load(program).neighbours
        if neighbours is None or neighbours.kind != "participation":
            return "targets.yaml"
        (files / "steps.yaml").write_text(STEPS, encoding="utf-8")
        return "steps.yaml"

    return chosen


@pytest.fixture
def refused(files: Path, run: Run) -> Callable[..., str]:
    """Run a command that must be refused with status 2, print no result and write nothing; its message."""

    def check(*arguments: object) -> str:
        before = sorted(path.name for path in files.iterdir())
        done = run(*arguments)
        assert (done.status, done.out) == (2, ""), done
        assert sorted(path.name for path in files.iterdir()) == before
        return "\n".join(
            line for line in done.err.splitlines() if not line.startswith(("program: ", "chosen: "))
        )

    return check


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The solution of total.yaml for Gaussian noise, saved by ``mmopt solve --out``."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "total.yaml").write_text(TOTAL_ERROR, encoding="utf-8")
    done = invoke("solve", folder / "total.yaml", "--program", "l2_strategy", "--out", folder / "total.npz")
    assert done.status == 0, done
    return folder / "total.npz"


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ctrl-C is pressed when a solver has the problem, also where a shell has made us ignore it."""
    hand_over = Clock.hand_over

    def pressed(self: Clock, words: str) -> None:
        hand_over(self, words)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Clock, "hand_over", pressed)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def unsaved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are drawn, and not turned into bytes, which takes longest: tests/report looks at those."""
    starts = {"svg": b"<?xml version='1.0'?><svg></svg>", "png": b"\x89PNG"}
    monkeypatch.setattr("mmopt.report.chart_parts._drawn", lambda figure, kind, dpi: starts[kind])
