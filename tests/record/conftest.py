"""``pytest tests/record --record`` writes down again what differs."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write the golden record again where it differs")
