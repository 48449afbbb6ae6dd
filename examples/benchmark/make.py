"""The files of a suite, for other solvers and other benchmarks; and the proof of its optima.

python examples/benchmark/make.py examples/benchmark/proved --out files     CBF and SDPA files, seconds
python examples/benchmark/make.py examples/benchmark/proved --prove         prove all optima again, minutes
"""

from __future__ import annotations

import csv
import importlib.util
import io
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from suite_table import OPTIMA, Instance, Optimum, class_of, data_hash, instances_in, optima_in

from mmopt import OptionError, ResultError, export
from mmopt.cli.app import run_alone
from mmopt.cli.command_inputs import names_in
from mmopt.cli.command_output import note, show
from mmopt.installation_and_files import write_whole

COLUMNS = ("instance", "class", "unknowns", "rows", "bytes", "lower", "upper", "width", "sha256")


@dataclass(frozen=True)
class Made:
    """The files of an instance by their endings, and what the table of optima says of them."""

    files: dict[str, str]
    about: dict[str, Any]


def made(instance: Instance) -> Made:
    """Compile an instance and write it in all forms that can say it; errors as ``mmopt.export``."""
    whole = export(instance.workload, instance.program, "cbf", givens=instance.givens)
    files = {".cbf": str(whole.content)}
    with suppress(OptionError):  # an exponential cone
        files[".dat-s"] = str(
            export(instance.workload, instance.program, "sdpa", givens=instance.givens).content
        )
    rows, unknowns = whole.problem.A.shape
    about = {
        "instance": instance.name,
        "class": class_of(whole.problem.cones),
        "unknowns": unknowns,
        "rows": rows,
        "bytes": len(files[".cbf"].encode()),
        "sha256": data_hash(files[".cbf"]),
    }
    return Made(files, about)


def make(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="Folder with a suite.yaml.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the files there.")] = None,
    only: Annotated[str | None, typer.Option(metavar="A,B", help="These instances alone.")] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help=f"Prove the optima, and write {OPTIMA} beside the suite.")
    ] = False,
) -> None:
    """Write the instances of a suite as CBF and SDPA files, and prove their optima."""
    chosen, known = instances_in(suite, names_in(only, "--only") if only else None), optima_in(suite)
    if prove and importlib.util.find_spec("flint") is None:
        raise OptionError(
            "a proof needs python-flint, which is not installed", hint="pip install python-flint"
        )
    names = {each.name for each in chosen}
    missing = [each.name for each in instances_in(suite) if each.name not in known and each.name not in names]
    if prove and missing:
        raise OptionError(f"the optimum of '{missing[0]}' is not proved yet", hint="leave --only out")
    rows, size, other = [], 0, []
    for number, instance in enumerate(chosen, 1):
        found = made(instance)
        if prove:
            from proved_interval import proved  # it needs python-flint

            note(f"{instance.name} ({number} of {len(chosen)})")
            try:
                found.about.update(proved(found.files[".cbf"]))
            except ResultError as error:
                note(f"  not proved: {error}")
                found.about.update({"lower": "", "upper": "", "width": ""})
        elif instance.name in known and known[instance.name].sha256 != found.about["sha256"]:
            other.append(instance.name)
        rows.append(found.about)
        if prove:
            _write_table(suite, {row["instance"]: row for row in rows}, known)
        for ending, text in found.files.items():
            size += len(text.encode())
            if out is not None:
                write_whole(out / f"{instance.name}{ending}", text.encode())
    if prove:
        show(f"proved: {sum(bool(row['lower']) for row in rows)} of {len(rows)}: {suite / OPTIMA}")
    if out is not None:
        show(f"{len(rows)} instances, {size:,} bytes: {out}")
    if other:
        show(f"other data than those whose optimum is proved: {', '.join(other)}")


def _write_table(suite: Path, proofs: dict[str, dict[str, Any]], known: dict[str, Optimum]) -> None:
    """Those proved now, and of the others what was known."""
    old = {name: optimum.row for name, optimum in known.items()}
    both = {**old, **proofs}
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(both[each.name] for each in instances_in(suite) if each.name in both)
    write_whole(suite / OPTIMA, text.getvalue().encode())


if __name__ == "__main__":
    run_alone(make, "python examples/benchmark/make.py")
