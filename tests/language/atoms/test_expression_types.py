"""Symbolic dimensions compute as whole numbers do."""

import pytest
from hypothesis import given, settings, strategies as st

from mmopt.language.atoms.expression_types import Dim

NAMES = ("m", "n", "k")
atoms = st.one_of(st.sampled_from(NAMES), st.integers(-3, 3)).map(Dim.of)
dims = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
    ),
    max_leaves=6,
)
sizes = st.fixed_dictionaries({name: st.integers(0, 50) for name in NAMES})


@settings(max_examples=20)
@given(dims, dims, sizes)
def test_ring(a: Dim, b: Dim, known: dict[str, int]) -> None:
    assert (a + b).value(known) == a.value(known) + b.value(known)
    assert (a - b).value(known) == a.value(known) - b.value(known)
    assert (a * b).value(known) == a.value(known) * b.value(known)
    assert (-a).value(known) == -a.value(known)
    assert a + b == b + a and a * b == b * a and a - a == Dim.of(0)
    assert (a + b) - b == a


@settings(max_examples=20)
@given(dims, sizes)
def test_text(a: Dim, known: dict[str, int]) -> None:
    assert eval(str(a), {}, known) == a.value(known)
    assert set(NAMES) >= a.symbols


def test_words() -> None:
    n, m = Dim.of("n"), Dim.of("m")
    two = Dim.of(2)
    assert str(n * two - m + Dim.of(1)) == "-m + 2*n + 1"
    assert str(n - m * n) == "-m*n + n"
    assert str(Dim.of(0)) == "0"
    with pytest.raises(KeyError, match="n"):
        n.value({})
