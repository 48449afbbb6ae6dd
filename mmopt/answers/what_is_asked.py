"""What callers pass for a workload and a privacy: a workload file says both, arguments go before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mmopt.errors import OptionError, WorkloadError
from mmopt.privacy import Privacy
from mmopt.request import TableOptions, WorkloadLike, as_request, as_workload
from mmopt.strategies import Neighbours, NeighboursLike, unit_of
from mmopt.workloads import Workload

__all__ = ["Asked", "PrivacyLike", "asked"]

PrivacyLike = Privacy | Mapping[str, float] | None


@dataclass(frozen=True, eq=False)
class Asked:
    """A workload at a privacy. ``file``: name and sha256 of the workload file, where there is one.

    neighbours : None where nothing is said: those of the program.
    """

    workload: Workload
    privacy: Privacy | None
    neighbours: Neighbours | None
    table: TableOptions = field(default_factory=TableOptions)
    file: Mapping[str, str] | None = None


def asked(
    workload: WorkloadLike,
    privacy: PrivacyLike = None,
    neighbours: NeighboursLike | None = None,
    unit: NeighboursLike | None = None,
) -> Asked:
    """What is asked for: by a Request, a workload file or its dictionary also the privacy and the neighbours.

    Raises
    ------
    WorkloadError, PrivacyError, OptionError : as ``as_workload``, ``Privacy.of`` and ``Neighbours.of``; a
        unit of privacy beside neighbours, of which it is a set.
    """
    keys = {"epsilon", "delta", "rho"}
    if isinstance(workload, Privacy) or (
        isinstance(workload, Mapping) and workload and set(workload) <= keys
    ):
        raise WorkloadError(
            "a privacy stands where the workload is expected",
            hint="the privacy comes after it: accuracy(workload, privacy), release(data, workload, privacy)",
        )
    request = as_request(workload)
    stated = None if privacy is None else Privacy.of(privacy)
    if neighbours is not None and unit is not None:
        raise OptionError(
            f"neighbours is {neighbours!r} and unit is {unit!r}: both say what is protected",
            hint="keep one of them",
        )
    said = None if neighbours is None else Neighbours.of(neighbours)
    said = said if unit is None else unit_of(unit)
    if request is None:
        return Asked(as_workload(workload), stated, said)
    return Asked(
        request.workload,
        stated or request.privacy,
        said or request.neighbours,
        request.table,
        {"name": Path(request.path).name, "sha256": request.text_hash},
    )
