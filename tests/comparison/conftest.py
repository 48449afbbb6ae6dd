"""One process that loads the solvers, for most tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mmopt.comparison import Isolated


@pytest.fixture(scope="module")
def processes() -> Iterator[Isolated]:
    with Isolated() as isolated:
        yield isolated
