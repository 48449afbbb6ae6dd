"""Names with parameters, and what is said of wrong ones."""

import pytest

from mmopt.errors import OptionError
from mmopt.strategies.baselines import (
    ALIASES,
    CATALOGUE,
    baseline_names,
    baseline_words,
    is_baseline,
    read,
)


def test_the_table_is_consistent() -> None:
    names = [row.name for row in CATALOGUE]
    assert len({*names}) == len(names) and not {*names} & {*ALIASES}
    assert {*baseline_words()} == {*names, *ALIASES}
    for text in (*baseline_names(), *ALIASES.values()):
        assert str(read(text)) == text
    for row in CATALOGUE:
        assert row.title and row.source and set(row.norms) <= {1, 2}
        assert len({parameter.name for parameter in row.parameters}) == len(row.parameters)
        # Every default may be written out.
        given = ", ".join(map(str, row.parameters))
        assert read(f"{row.name}({given})").given == tuple((p.name, p.default) for p in row.parameters)


def test_read() -> None:
    call = read(" hierarchical( branching = 16, root=False )")
    assert call.baseline.name == "hierarchical" and dict(call.given) == {"branching": 16, "root": False}
    assert str(call) == "hierarchical(branching=16, root=False)"
    assert str(read("haar")) == "wavelet" and str(read("hierarchy")) == "hierarchical(branching=2)"
    assert read("wavelet()") == read("wavelet")


def test_what_counts_as_a_name() -> None:
    assert all(
        is_baseline(text) for text in ("haar", "hierarchical(branching=3)", "nothing(x=1)", " identity")
    )
    assert not any(is_baseline(text) for text in ("0.5", "har", "rows.npy", "rows(1).npy", "a/b(c)", ""))


def test_refusals(subtests: pytest.Subtests) -> None:
    branching = "expected an integer of 2 or more\n  branching: parts of each block; None: that of HB"
    cases = {
        "wavlet": "there is no baseline 'wavlet'\n  did you mean 'wavelet'?",
        "hierarchical(branch=2)": (
            "'hierarchical' has no parameter 'branch', it takes branching, root\n  did you mean 'branching'?"
        ),
        "wavelet(levels=2)": "'wavelet' has no parameter 'levels', it takes no parameters",
        "haar(branching=2)": (
            "'haar' is short for 'wavelet' and takes no parameters\n  write 'wavelet' with the parameters"
        ),
        "hierarchical(root=1)": "root of 'hierarchical' is 1, expected True or False\n",
        "quadtree(branching=None)": "branching of 'quadtree' is None, expected an integer of 2 or more\n",
    }
    for value in ("1", "-2", "2.0", "'2'", "True"):
        cases[f"hierarchical(branching={value})"] = f"branching of 'hierarchical' is {value}, {branching}"
    for text in (
        "",
        "hierarchical(2)",
        "hierarchical(branching=2",
        "hierarchical(branching=2, branching=3)",
        "hierarchical(**{'branching': 2})",
        "hierarchical(branching=max(2, 3))",
        "hierarchical(branching=-x)",
        "a.b(c=1)",
        "2",
        "x\0",
    ):
        cases[text] = (
            f"the baseline is '{text}', expected a name, or a name with parameters\n"
            "  for example hierarchical(branching=16)"
        )
    for text, message in cases.items():
        with subtests.test(text):
            with pytest.raises(OptionError) as caught:
                read(text)
            assert (str(caught.value) + "\n").startswith(message)
