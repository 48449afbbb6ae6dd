"""Why the total of a ledger holds, in words for whoever reads it; the proof is in ``composition``."""

from __future__ import annotations

from fractions import Fraction

from mmopt.errors import counted
from mmopt.ledger.account import Account
from mmopt.ledger.composition import epsilon_of, shown, total_spent
from mmopt.numerics.outward import rounded

__all__ = ["epsilon_deltas", "explanation"]

DELTAS = (1e-6, 1e-9)
"""At which the epsilon of a rho is said."""


def epsilon_deltas(rho: Fraction) -> list[str]:
    """What so much rho amounts to at each of ``DELTAS``: ``(epsilon, delta)``, rounded up."""
    return [f"({rounded(str(epsilon_of(rho, delta)), 6, up=True)}, {delta:g})" for delta in DELTAS]


def explanation(account: Account) -> list[str]:
    """In words: what is counted, which theorem makes the total hold, and what it amounts to; by paragraph."""
    terms, used = account.terms, total_spent(account)
    zcdp = terms.measure == "rho"
    words = [
        f"The ledger of the data set '{terms.data_set}' allows {terms.measure} "
        f"{shown(terms.total, is_left=True)} in all; {shown(used)} is spent by "
        f"{counted(len(account.entries), 'release')}. The unit of privacy is that "
        f"of each release: {terms.neighbours}.",
    ]
    if zcdp:
        words += [
            "Each release is rho-zCDP for the rho that its manifest states. Together they are zCDP for the "
            "sum (Bun and Steinke 2016, Lemma 1.7), also where later releases, and what they cost, were "
            "chosen after earlier answers were seen (Feldman and Zrnic 2021), since none is made that would "
            "pass the total.",
            "A release with Laplace noise satisfies pure epsilon, which is epsilon²/2-zCDP (Bun and Steinke "
            "2016, Proposition 1.4); so much is counted.",
        ]
    else:
        words += [
            "Each release satisfies pure epsilon-DP. Together they satisfy it for the sum: basic composition "
            "(Dwork, McSherry, Nissim and Smith 2006), also where later releases, and what they cost, were "
            "chosen after earlier answers were seen (Rogers, Roth, Ullman and Vadhan 2016), since none is "
            "made that would pass the total.",
            "Releases with Gaussian noise are refused: they satisfy no pure epsilon.",
        ]
    if terms.partition is not None:
        words.append(
            f"Releases of rows with one value of '{terms.partition}' compose in parallel: a row that is "
            "added or removed stands in one part, and releases of other parts do not depend on it. So what "
            "counts is what was spent on the whole table, and the most that was spent on one part (McSherry "
            "2009, Theorem 4; for rho by the same argument). It rests on that column having the same value "
            "for a row wherever the data set is read from. Names that may spell one value share an account: "
            "true and 1, 1,5 and 1.5, a day and its midnight. They are published in this ledger."
        )
    if zcdp:
        for name, rho in (("What is spent", used), ("The total", terms.total)):
            sums = " and ".join(epsilon_deltas(rho))
            words.append(
                f"{name}, rho {shown(rho)}, amounts to (epsilon, delta) = {sums} (Canonne, Kamath and "
                "Steinke 2020, Corollary 13)."
            )
    else:
        words.append("It holds with delta = 0, and so at every delta.")
    words.append(
        "A release is charged before its noise is drawn, so one that was cut off is counted in full. Sums "
        "are exact fractions. What the ledger cannot know: that a table which is called by the name of the "
        "data set is that data set, releases made without it, an older copy of the "
        "file put in its place, and what somebody on purpose makes of the file."
    )
    return words
