"""Reasons why a solver, a search, a solve or a comparison ended."""

from enum import StrEnum


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
