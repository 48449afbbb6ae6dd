"""DuckDB's bar of progress, which notebooks have on: it is turned off, and not touched where it is off."""

from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from ibis.backends.duckdb import Backend

from mmopt.data.table_files_and_connections import connected

SWITCHED_OFF = "SET enable_progress_bar = false"


def test_the_bar_is_switched_off_only_where_it_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[str] = []
    ask, is_on = Backend.raw_sql, True

    def in_a_notebook(backend: Backend, query: Any, **options: Any) -> Any:
        if "enable_progress_bar" not in str(query):
            return ask(backend, query, **options)
        queries.append(query)
        if query == SWITCHED_OFF and not is_on:  # as DuckDB does in a notebook without ipywidgets
            raise duckdb.InvalidInputException("Could not change the progress bar setting")
        return SimpleNamespace(fetchall=lambda: [(is_on,)])

    monkeypatch.setattr(Backend, "raw_sql", in_a_notebook)
    for is_on in (True, False):
        queries.clear()
        with connected() as connection:
            assert connection.raw_sql("SELECT 7").fetchall() == [(7,)]
        assert (SWITCHED_OFF in queries) == is_on and queries
