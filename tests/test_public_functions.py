"""Every public function names itself and what is wrong, is legible in help, and has its command's options.

Guards errors.py.
"""

import inspect
import pickle
import re
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt.cli.command_table import COMMANDS

ASKED = mmopt.Workload.of(
    domain={"age": {"bins": [0, 18, 65]}, "sex": {"values": ["F", "M"]}},
    workload=[
        {"name": "ages", "marginal": ["age"], "within": 30, "subworkload": "part"},
        {"marginal": ["sex"]},
    ],
)
PEOPLE = {"age": [1, 20, 20], "sex": ["F", "M", "F"]}
FUNCTIONS = [name for name in mmopt.__all__ if inspect.isfunction(getattr(mmopt, name))]

# Where nothing reads it, or it only has to be true or false: such arguments are not refused.
UNREAD = {
    ("accuracy", "refuse"),
    ("baseline_factors", "begin"),
    ("baseline_factors", "isolated"),
    ("baseline_factors", "stated"),
    ("budget", "pure"),
    ("certify", "solve"),
    ("compare", "formulations"),
    ("compare", "neighbours"),
    ("explain", "givens"),
    ("release", "anyway"),
}


class Odd:
    """A value that no argument takes."""

    def __repr__(self) -> str:
        return "Odd()"


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """Arguments for each function that are right."""
    folder = tmp_path_factory.mktemp("public")
    solution = mmopt.solve(ASKED, "l2_strategy")
    plan = mmopt.plan(ASKED, solution, {"rho": 1.0})
    answers = mmopt.measure(plan, np.ones(4, dtype=np.int64), simulate=1)
    saved = mmopt.write_release(answers, mmopt.build_manifest(plan, answers), folder / "saved")
    return {
        "accuracy": {"workload": ASKED, "privacy": {"rho": 1.0}},
        "baseline": {"name": "identity", "workload": ASKED},
        "baseline_factors": {"outcomes": [], "workload": ASKED},
        "bound_of": {
            "program": "l2_strategy",
            "workload": ASKED,
            "multipliers": {"sensitivity": np.ones(4)},
        },
        "budget": {"workload": ASKED},
        "build_manifest": {"plan": plan, "answers": answers},
        "certify": {"workload": ASKED, "strategy": np.eye(4)},
        "compare": {"workload": ASKED, "programs": ["l2_strategy"]},
        "cvxpy_problem": {"workload": ASKED, "program": "l2_strategy_lmi"},
        "data_vector": {"data": PEOPLE, "domain": ASKED},
        "dual_function": {
            "program": "l2_strategy",
            "workload": ASKED,
            "multipliers": {"sensitivity": np.ones(4)},
        },
        "explain": {"program": "l2_strategy"},
        "export": {"workload": ASKED, "program": "l2_strategy_lmi"},
        "load_release": {"folder": saved},
        "load_request": {"path": "none.yaml"},
        "measure": {"plan": plan, "x": np.ones(4, dtype=np.int64)},
        "plan": {"workload": ASKED, "strategy": solution, "privacy": {"rho": 1.0}},
        "release": {"data": PEOPLE, "workload": ASKED, "privacy": {"rho": 1.0}},
        "solve": {"workload": ASKED, "program": "l2_strategy"},
        "trace": {"solution": solution},
        "tune": {"workload": ASKED, "subworkload": "part"},
        "verify": {"solution": solution, "workload": ASKED},
        "write_release": {"answers": answers, "manifest": {}, "folder": folder / "written"},
    }


def arguments_of(name: str) -> Mapping[str, inspect.Parameter]:
    return {
        n: p
        for n, p in inspect.signature(getattr(mmopt, name)).parameters.items()
        if p.kind is not p.VAR_KEYWORD
    }


def refusal(name: str, /, **arguments: Any) -> mmopt.Error:
    with pytest.raises(mmopt.Error) as refused:
        result = getattr(mmopt, name)(**arguments)
        _ = list(result) if name == "tune" else None
    return refused.value


def test_a_value_of_another_type_is_refused_in_the_name_of_the_function(
    right: Mapping[str, dict[str, Any]], subtests: pytest.Subtests
) -> None:
    assert sorted(right) == FUNCTIONS
    for name, arguments in right.items():
        for argument in arguments_of(name):
            if (name, argument) in UNREAD:
                continue
            with subtests.test(f"{name}({argument}=)"):
                error = refusal(name, **{**arguments, argument: Odd()})
                assert error.__notes__ == [f"in mmopt.{name}"]
                assert not re.search(r"\b_\w|object at 0x", str(error)), error
                others = set(FUNCTIONS) - {name, argument}
                assert not others & {error.message.partition(" ")[0]}, error
                words = {"x": "the data vector"}.get(argument, argument.partition("_")[0])
                assert "Odd" in str(error) or words in str(error), error


def test_a_wrong_argument_by_place_is_named_with_what_is_taken(right: Mapping[str, dict[str, Any]]) -> None:
    with pytest.raises(mmopt.OptionError, match=r"^plan is of type int, expected Plan"):
        mmopt.measure(3, right["measure"]["x"])  # type: ignore[arg-type]
    with pytest.raises(mmopt.DataError, match=r"^a int and a Domain are given") as refused:
        mmopt.release(42, ASKED, {"rho": 1.0})
    assert refused.value.__notes__ == ["in mmopt.release"]


def test_words_are_called_for_only_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the first call comes after the privacy is spent."""
    monkeypatch.setattr(
        "mmopt.answers.private_release.counted_data", lambda *_, **__: pytest.fail("was read")
    )
    error = refusal("release", data=PEOPLE, workload=ASKED, privacy={"rho": 1.0}, say="loudly")
    assert error.message == "say is of type str, expected Callable[[str], None] | None"


def test_a_mistake_inside_is_not_blamed_on_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("a bug")

    monkeypatch.setattr("mmopt.answers.accuracy_budget_and_default_strategy.default_strategy", broken)
    with pytest.raises(TypeError, match=r"^a bug$"):
        mmopt.accuracy(ASKED, {"rho": 1.0})
    with pytest.raises(TypeError, match=r"^release\(\) missing 1 required positional argument"):
        mmopt.release(PEOPLE)  # type: ignore[call-arg]


RENAMED = [
    ("accuracy", "solution", "strategy"),
    ("baseline", "text", "name"),
    ("compare", "tolerances", "tolerance"),
    ("measure", "simulate_seed", "simulate"),
    ("release", "epsilon", "privacy"),
    ("release", "simulate_seed", "simulate"),
    ("release", "solution", "strategy"),
    ("tune", "name", "subworkload"),
]


def test_an_earlier_name_is_answered_with_the_new_one(right: Mapping[str, dict[str, Any]]) -> None:
    for function, before, now in RENAMED:
        arguments = {n: value for n, value in right[function].items() if n != now}
        error = refusal(function, **arguments, **{before: 1})
        assert str(error) == f"there is no option '{before}'\n  write {now}=…"
        assert now in arguments_of(function)
    error = refusal("solve", **right["solve"], tolerence=1e-3)
    assert str(error) == "there is no option 'tolerence'\n  did you mean 'tolerance'?"


def test_defaults_are_legible(subtests: pytest.Subtests) -> None:
    """In ``help``, also of methods; dataclasses show a default that is made anew as <factory>."""
    shown: dict[str, Callable[..., Any]] = {name: getattr(mmopt, name) for name in FUNCTIONS}
    for name in mmopt.__all__:
        if inspect.isclass(kind := getattr(mmopt, name)):
            methods = inspect.getmembers(kind, inspect.isroutine)
            shown |= {f"{name}.{n}": method for n, method in methods if not n.startswith("_")}
    for name, function in shown.items():
        if getattr(function, "__module__", None) is None or not function.__module__.startswith("mmopt"):
            continue  # inherited from tuple, dict or Exception
        with subtests.test(name):
            for parameter in inspect.signature(function).parameters.values():
                if parameter.default is not parameter.empty and not isinstance(parameter.default, str):
                    assert re.fullmatch(r"[\w\s.,+:\-()\[\]'\"]{1,50}", repr(parameter.default)), parameter
                assert len(inspect.formatannotation(parameter.annotation)) <= 120, parameter


# Of commands: what they print, write and draw; of functions: what only Python can give.
PRINTED = {"json", "out", "chart", "verbose", "queries"}
OF_THE_COMMAND = {
    "budget": {"solver", "tolerance", "time_limit", "threads"},  # solved=
    "compare": {"baseline", "no_baselines", "max_iterations", "threads"},  # baseline_factors; **options
    "explain": {"solve", "latex", "html", "formulas"},  # methods of an Explanation
    "solve": {"dry_run", "trace", "trace_page"},  # mmopt.explain, mmopt.trace
    "tune": {"noise", "solver", "tolerance", "time_limit"},  # **options
}


def spelt(name: str, parameter: Any) -> str:
    """The word that stands on the command line for a parameter."""
    annotated = parameter[0] if isinstance(parameter, tuple) else parameter
    option = annotated.__metadata__[0]
    words = (option.default, *(option.param_decls or ()), f"--{name}")
    first = next(word for word in words if isinstance(word, str) and word.startswith("--"))
    return first.partition("/")[0].removeprefix("--").replace("-", "_")


def test_options_have_the_names_of_the_command(subtests: pytest.Subtests) -> None:
    """A command's option that is repeated is singular, and --no-reduce is reduce=False."""
    assert set(OF_THE_COMMAND) <= set(FUNCTIONS) & set(COMMANDS)
    for name in sorted(set(FUNCTIONS) & set(COMMANDS)):
        with subtests.test(name):
            taken = set(arguments_of(name))
            left = {
                option
                for option in map(spelt, *zip(*COMMANDS[name].parameters.items(), strict=True))
                if not {option, f"{option}s", option.removeprefix("no_")} & taken
            }
            assert left - PRINTED == OF_THE_COMMAND.get(name, set())


def test_functions_are_what_they_wrap() -> None:
    """For help, for pickle, and for type checkers that read the modules."""
    for name in FUNCTIONS:
        function = getattr(mmopt, name)
        assert pickle.loads(pickle.dumps(function)) is function and function.__module__ == "mmopt"
        assert inspect.getdoc(function) == inspect.getdoc(inspect.unwrap(function))


def test_a_privacy_is_a_dictionary_of_declared_keys() -> None:
    keys = mmopt.PrivacyParameters.__annotations__
    assert list(keys) == list(mmopt.Privacy.__dataclass_fields__)
    privacy: mmopt.PrivacyParameters = {"epsilon": 1.0, "delta": 1e-6}
    assert mmopt.Privacy.of(privacy) == mmopt.Privacy(epsilon=1.0, delta=1e-6)
    for function in (mmopt.accuracy, mmopt.compare, mmopt.plan, mmopt.release):
        hint = typing.get_type_hints(function)["privacy"]
        assert mmopt.PrivacyParameters in typing.get_args(hint)


def test_errors_of_files_keep_their_place(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("domain: {a: {values: [x]}}\nworkload: [{marginal: [b]}]\n", encoding="utf-8")
    error = refusal("load_request", path=file)
    assert error.where is not None and error.where.line == 2 and error.__notes__ == ["in mmopt.load_request"]


def test_a_fault_in_the_caller_s_progress_is_the_caller_s() -> None:
    for program in ("l2_strategy", "p_identity"):
        with pytest.raises(ZeroDivisionError) as raised:
            mmopt.solve(ASKED, program, progress=lambda _: 1 // 0)  # type: ignore[arg-type,return-value]
        assert raised.value.__notes__ == ["in the function given as progress"]


def test_an_option_that_is_passed_on_and_that_nothing_reads_is_named(
    right: Mapping[str, dict[str, Any]],
) -> None:
    error = refusal("compare", **right["compare"], tolerence=1)
    assert str(error) == "there is no option 'tolerence'\n  did you mean 'tolerance'?"
    assert error.__notes__ == ["in mmopt.compare"]


def test_what_a_hint_proposes_is_in_the_words_of_the_call(tmp_path: Path) -> None:
    people = {"sex": ["f", "M", "M", "F"], "age": ["1", "20", "NA", None]}
    keys = {"sex": {"values": ["F", "M"]}, "age": {"bins": [0, 18, 65]}}
    workload = mmopt.Domain.of(keys).marginal("sex", "age")
    with pytest.raises(mmopt.DataError) as caught:
        mmopt.release(people, workload, {"rho": 1.0})
    assert (
        "say where they go: Domain.of({'sex': {…, 'outside': 'drop'}}) leaves them out" in caught.value.hint
    )
    (words,) = re.findall("in the call: (.*)", caught.value.hint)
    with pytest.raises(mmopt.DataError) as caught:
        eval(f"mmopt.release(people, workload, {{'rho': 1.0}}, {words})", globals() | locals())
    (rules,) = re.findall(r"Domain.of\((\{.*?\}\})\)", caught.value.hint)
    form = eval(rules.replace("…", "**keys['age']"), {"keys": keys})
    workload = mmopt.Domain.of(keys | form).marginal("sex", "age")
    assert "workload file" not in str(caught.value)
    release = eval(
        f"mmopt.release(people, workload, {{'rho': 1.0}}, {words}, simulate=1)", globals() | locals()
    )
    assert len(release.answers) == 4
    with pytest.raises(mmopt.PrivacyError) as lacking:
        mmopt.accuracy(workload)
    (words,) = re.findall("privacy=.*", lacking.value.hint)
    assert eval(f"mmopt.accuracy(workload, {words})", globals() | locals()).rmse > 0
    # Where a file is named, it is the place to write them.
    file = tmp_path / "workload.yaml"
    file.write_text("domain: {sex: {values: [F, M]}}\nworkload: [marginal: [sex]]\n")
    for named in (file, mmopt.load_request(file)):
        with pytest.raises(mmopt.DataError, match="in the workload file") as caught:
            mmopt.release(people, named, {"rho": 1.0})


def test_columns_of_a_frame_without_texts_for_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        [[1, 2], [1, 3]], columns=pandas.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    )
    domain = mmopt.Domain.of(x={"values": [1, 2], "column": ("a", "b")})
    assert mmopt.data_vector(frame, domain).counts.tolist() == [2, 0]
    frame.columns = [0, 1]
    domain = mmopt.Domain.of(x={"values": [2, 3], "column": "1"}, column=("a", "b"))
    assert domain.attributes[1].labels == ("a", "b")
    assert mmopt.data_vector(frame, domain, workload=domain.marginal("x")).counts.sum() == 2
