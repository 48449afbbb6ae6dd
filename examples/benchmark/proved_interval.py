"""The optimum of a CBF file between two decimals, proved."""

from __future__ import annotations

from cbf_file import exact_problem
from flint import arb, ctx
from interior_start import interior_start
from proved_optimum import BITS, enclosed

from mmopt import ResultError

DIGITS = 17


def proved(text: str) -> dict[str, str]:
    """lower <= optimum <= upper of a CBF file as decimals, and the distance relative to the optimum, or 1.

    Raises
    ------
    ResultError : the proof does not succeed.
    """
    problem = exact_problem(text)
    try:
        found = enclosed(problem, interior_start(problem))
    except ZeroDivisionError:
        raise ResultError("Newton's system is singular: some equations follow from others") from None
    lower, upper = decimal(found.lower, up=False), decimal(found.upper, up=True)
    width = (float(upper) - float(lower)) / max(1.0, abs(float(lower)))
    return {"lower": lower, "upper": upper, "width": f"{width:.1e}"}


def decimal(value: arb, *, up: bool) -> str:
    """A decimal of some 17 digits that is not below (above) any number in the ball."""
    before, ctx.prec = ctx.prec, BITS
    try:
        end = value.upper() if up else value.lower()
        size, places = abs(float(end)), DIGITS - 1
        while size >= 10 and places:
            size, places = size / 10, places - 1
        scaled = end * arb(10) ** places
        rounded = (scaled.ceil() if up else scaled.floor()).unique_fmpz()
        if rounded is None:
            raise ResultError(f"an end of {value} is not known to a whole number of its last digit")
        whole = int(rounded)
    finally:
        ctx.prec = before
    digits = str(abs(whole)).rjust(places + 1, "0")
    point = len(digits) - places
    return f"{'-' if whole < 0 else ''}{digits[:point]}{'.' if places else ''}{digits[point:]}"
