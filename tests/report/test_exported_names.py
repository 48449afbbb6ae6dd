"""Exports of the package are loaded on first use, and one module of tables without the rest."""

import subprocess
import sys

import pytest

import mmopt.report
from mmopt.report import exported_names


def test_every_name_is_given_and_no_other() -> None:
    for name in exported_names.__all__:
        assert getattr(mmopt.report, name) is getattr(exported_names, name)
    with pytest.raises(AttributeError, match="has no attribute 'annotations_of'"):
        mmopt.report.annotations_of  # noqa: B018


def test_tables_of_a_workload_load_neither_solvers_nor_the_language() -> None:
    code = (
        "import sys, mmopt.report.table_style, mmopt.request.workload_file_and_arguments\n"
        "print(*(m for m in ('mmopt.driver', 'mmopt.solvers', 'mmopt.language') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
