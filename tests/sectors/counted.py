"""Random forms in counts, and their exact values in rational numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from mmopt.numerics.arrays import Ints
from mmopt.sectors.equal.count_form import CountForm, count_form
from mmopt.sectors.equal.sampled_values import symmetric


def random_form(rng: np.random.Generator, size: int, degree: int, total: int) -> CountForm:
    """A function of ``degree`` attributes, of numbers that are exact and symmetric."""
    function = symmetric(rng.standard_normal((size,) * degree))
    for own in itertools.combinations_with_replacement(range(size), degree):
        for order in itertools.permutations(own):
            function[order] = function[own]
    return count_form(function, np.abs(function), 0, total)


def exact_value(form: CountForm, counts: Ints) -> Fraction:
    """The mean over all choices of attributes, of numbers as they are: by counts of ordered choices."""
    total, often = Fraction(0), 0
    for values in itertools.product(range(form.size), repeat=form.degree):
        left, ways = counts.tolist(), 1
        for value in values:
            ways *= left[value]
            left[value] -= 1
        total += ways * Fraction(float(form.function[values]))
        often += ways
    return total / often
