"""Why work ends: the words that a solver's last point, a search, a solve and a comparison are stopped by."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Stop"]


class Stop(StrEnum):
    """Why a solver, a search or a solve ended: the words that are printed and saved."""

    # of a solver's last point
    SOLVED = "solved"
    STOPPED = "stopped"  # the time was over, or Ctrl-C was pressed
    FAILED = "failed"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    # of that, of a search and of a solve
    ITERATIONS = "iteration limit"
    LOCAL = "local optimum"  # of a solve: with what is known of its starts
    # of a solve
    REACHED = "gap reached"
    EVERY_STEP = "gap reached in every step"
    MISSED = "gap not reached"
    LIFTED = "gap not reached by the lifted point"
    TIME = "time limit"
    INTERRUPTED = "interrupted"
    FINISHED = "solver finished"  # of a program without a certificate
    RANK = "rank reached"  # in so many starts
    NO_RANK = "rank not reached"
    CLOSED = "closed form"
    CERTIFIED = "certified"
    # of a combination that is compared, without a solution
    MEMORY = "memory limit"
    CRASHED = "crashed"
    NO_RESULT = "no result"
    REFUSED = "refused"
    TOO_LARGE = "too large"
    UNSUITABLE = "does not apply"
    NOT_STARTED = "not started"

    __repr__ = str.__repr__
