"""The machine and the versions of a run, and whether it was disturbed.

Linux says most of it; else less is said.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from called_solvers import CALLED, MODULES, PLAIN
from measured_solve import KERNEL, MMOPT

__all__ = ["disturbances", "machine", "versions"]

SYSTEM = ("numpy", "scipy", "cvxpy")


def machine(threads: int) -> dict[str, Any]:
    """Processor, cores, memory, system; threads of each solver."""
    info = _text("/proc/cpuinfo").splitlines()
    models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "usable cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory GiB": round(memory / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or "not told",
        "threads of a solver": threads,
    }


def versions(solvers: Sequence[str]) -> dict[str, str]:
    """The versions of mmopt, of its libraries and of the solvers, functions included; "-": unknown.

    Raises
    ------
    OptionError, SolverError : as ``function_of``.
    """
    from mmopt import __version__
    from mmopt.installation_and_files import version_of
    from mmopt.solvers import solver_row

    named = dict.fromkeys(name.removeprefix(PLAIN) for name in solvers if name not in (KERNEL, MMOPT))
    modules = {name: MODULES[name] for name in named if name in MODULES} | {name: name for name in SYSTEM}
    found = {name: version_of(module) or "-" for name, module in modules.items()}
    others = {name: solver_row(name).version or "-" for name in named if name not in CALLED}
    return {"mmopt": __version__, **found, **others}


def disturbances() -> Mapping[str, float]:
    """Counters to be compared before and after: load, throttling by heat and by a share of the processor."""
    heat = [
        float(_text(str(path)) or 0)
        for path in Path("/sys/devices/system/cpu").glob("cpu*/thermal_throttle/core_throttle_count")
    ]
    share = dict(
        line.split() for line in _text("/sys/fs/cgroup/cpu.stat").splitlines() if len(line.split()) == 2
    )
    speeds = [
        float(line.split(":")[1])
        for line in _text("/proc/cpuinfo").splitlines()
        if line.startswith("cpu MHz")
    ]
    return {
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "throttled by heat": sum(heat),
        "throttled by a quota": float(share.get("nr_throttled", 0)),
        "MHz": max(speeds, default=0.0),
    }


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
