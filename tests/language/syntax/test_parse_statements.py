"""Every mistake in a declaration, with its place (between « and ») and the full text of its error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

# Marked declaration, message, hint.
CHOICES = [
    ("X: psd«[»n, n", "this '[' is not closed", "its partner ']' is missing"),
    ("«X psd[n, n]»", "a declaration is expected", "write: name: matrix[m, n]"),
    ("X: «psd»", "'psd' takes 2 dimensions, not 0", "for example X: psd[n, n]"),
    ("X: «psd»[n]", "'psd' takes 2 dimensions, not 1", "for example X: psd[n, n]"),
    ("X: psd[n, «m»]", "'psd' is square, here are n rows and m columns", "write psd[n, n]"),
    ("X: psd[n, «k»]", "the dimension 'k' is not defined", "known: m, n"),
    ("X: «psf»[n, n]", "there is no kind 'psf'", "did you mean 'psd'?"),
    ("X:«»", "a kind is missing here", "known: dim, matrix, psd, scalar, symmetric, vector"),
    ("X: psd[n, n] «>=» 1", "a sign is '>= 0' or '> 0'", "other limits are constraints"),
    ("X: psd[n, n] «<» 0", "a sign is '>= 0' or '> 0'", "other limits are constraints"),
    ("X: psd[n, n] = «workload.gram»", "'X' is chosen and has no source", "a given has one"),
    (
        "X: psd[n, n] «7»",
        "'7' cannot stand here in a declaration",
        'write: name: kind[dimensions] >= 0 = source "what it is"',
    ),
    ("X: psd[n, «]»", "a dimension is missing here", "for example n or 2*n"),
    ("X: psd[n, «1.5»]", "a dimension is made of names, whole numbers, + - and *", "for example n or 2*n"),
    ("X: psd[n, «n/2»]", "a dimension is made of names, whole numbers, + - and *", "for example n or 2*n"),
    ("«W»: psd[n, n]", "'W' is defined twice", "give one of them another name"),
    ("«n»: psd[n, n]", "'n' is a dimension already", "give it another name"),
    ("«2x»: psd[n, n]", "'2x' is not a name", "letters, digits and _, not beginning with a digit"),
    ("«inv»: psd[n, n]", "'inv' is a word of the language and cannot be a name", ""),
    (
        'X: psd[n, n] "a" «"b"»',
        "'\"b\"' cannot stand here in a declaration",
        'write: name: kind[dimensions] >= 0 = source "what it is"',
    ),
    ("«X»: dim", "the dimension 'X' is not chosen", "declare it under 'parameter'"),
    ("X: psd[n, «sum»]", "'sum' is a word of the language and cannot be a name", ""),
    ("X: «scalar»[n]", "'scalar' takes no dimensions, not 1", "for example alpha: scalar"),
    ("«if»: scalar", "'if' is a word of Python and cannot be a name", ""),
    (
        "«lambda»: scalar",
        "'lambda' is a word of Python and cannot be a name",
        "call the multiplier mu, d or p",
    ),
    ("X: psd[n, n«)»", "this ')' meets an open '['", "']' closes it"),
]

GIVENS = [
    (
        "W: matrix[m, n] = «workload.matrx»",
        "there is no source 'workload.matrx'",
        "did you mean 'workload.matrix'?",
    ),
    ("W: matrix[m, n] «=» ", "a source is missing after '='", "for example workload.matrix"),
    ("W: matrix[m, n] «=» 3", "a source is missing after '='", "for example workload.matrix"),
    (
        "W: matrix[m, n] = «workload.targets»",
        "'workload.targets' is a vector (one per query with a target), 'W' is declared matrix",
        "",
    ),
    (
        "W: vector[m] = «workload.gram»",
        "'workload.gram' is a matrix (one per cell, one per cell), 'W' is declared vector",
        "",
    ),
    (
        "W: psd[n, n] = «workload.matrix»",
        "'workload.matrix' is not psd",
        "declare it matrix; the Gram matrix is workload.gram",
    ),
    ("«W»: dim", "the dimension 'W' is not given", "the shape of a given introduces it"),
    ("«m»: matrix[m, n]", "'m' is a dimension already", "give it another name"),
    (
        "W: matrix[m, n] = workload.matrix «=» workload.gram",
        "'=' cannot stand here in a declaration",
        'write: name: kind[dimensions] >= 0 = source "what it is"',
    ),
]


@pytest.mark.parametrize(("marked", "message", "hint"), CHOICES)
def test_mistake_in_what_is_chosen(
    marked: str,
    message: str,
    hint: str,
    program: Callable[..., str],
    refused: Callable[[str, str, str], None],
) -> None:
    refused(program(choose=marked, objective="sum(u)", constraint="u <= 1"), message, hint)


@pytest.mark.parametrize(("marked", "message", "hint"), GIVENS)
def test_mistake_in_what_is_given(
    marked: str,
    message: str,
    hint: str,
    program: Callable[..., str],
    refused: Callable[[str, str, str], None],
) -> None:
    refused(program(given=marked, objective="sum(u)", constraint="u <= 1"), message, hint)
