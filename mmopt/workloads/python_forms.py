"""Domains and workloads written in Python, and arrays in files (.npy and .csv).

Domains and workloads are written as in a workload file, and read by its reader; the reference is in
``mmopt/request/__init__.py``. ``mmopt.request`` is above this folder: it is imported when called, because
users hold a Domain or a Workload.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from mmopt.errors import OptionError

if TYPE_CHECKING:
    from mmopt.workloads.domain import Domain
    from mmopt.workloads.workload import Workload
SUFFIXES = (".npy", ".csv")


def read_array(path: Path, what: str) -> npt.NDArray[Any]:
    """The array in a NumPy file, or the table of numbers (2-D) in a file with commas.

    ``what`` says in messages what the file is for.

    Raises
    ------
    OptionError : no such file, an empty one, or one that holds something else.
    """
    if not path.is_file():
        raise OptionError(f"there is no file '{path}' for {what}")
    is_numpy = path.suffix.lower() == ".npy"
    try:
        if is_numpy:
            with path.open("rb") as file:  # np.load would take an archive of arrays too
                return np.lib.format.read_array(file, allow_pickle=False)
        if not path.read_text(encoding="utf-8").strip():
            raise OptionError(f"the file '{path}' for {what} is empty")
        return np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8")
    except (OSError, ValueError, EOFError) as error:
        kind = "a NumPy array" if is_numpy else "a table of numbers, separated by commas"
        reason = str(error).split("\n", maxsplit=1)[0]
        raise OptionError(f"the file '{path}' for {what} is not {kind}: {reason}") from None


class DomainForms:
    """The ways to make a Domain, and the queries over it."""

    @staticmethod
    def of(attributes: Mapping[str, object] | None = None, /, **more: object) -> Domain:
        """A domain from attributes as in a workload file, in their order; the last one varies fastest.

        Parameters
        ----------
        attributes, more : by name, a form of the workload file as a dictionary ({"bins": [0, 18, 65]},
            {"range": [0, 60], "width": 5}, {"categories": {…}}, with column, groups, outside, missing if
            wanted), or a list of table values. A tuple, range, array or series will do for a list, if it
            holds each value once: one that repeats values is data, and which values occur in data is
            confidential. A categorical (pandas, polars ``Enum``) gives its categories, in their order;
            where these were taken from the data, as ``astype("category")`` does, they are facts of the data,
            and no differential privacy covers their publication.

        Raises
        ------
        WorkloadError : as for a workload file, with the place, as ``domain.age.bins[2]``.
        TooLargeError : too many cells.

        >>> import mmopt
        >>> d = mmopt.Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})
        >>> d
        Domain(sex 2 × age 3: 6 cells)
        """
        from mmopt.request import read_attributes

        return read_attributes(attributes, more)

    def marginal(self, *attributes: Any, **options: object) -> Workload:
        """Every combination of the cells of some attributes: one query each.

        Parameters
        ----------
        attributes : names, or one list of them.
        options : the further keys of an entry in a workload file: name, weight, max_variance, subworkload.

        Raises
        ------
        WorkloadError : an unknown attribute or option (the nearest is named), or a value out of range.

        >>> import mmopt
        >>> d = mmopt.Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})
        >>> d.marginal("sex", "age", weight=2.0) + d.marginal("age")
        Workload(9 queries over 6 cells, 2 products)
        """
        from mmopt.request import read_entry

        names = attributes[0] if len(attributes) == 1 and not isinstance(attributes[0], str) else attributes
        return read_entry(cast("Domain", self), "marginal", names, options)

    def marginals(
        self,
        ways: Any,
        of: Any = None,
        **options: object,
    ) -> Workload:
        """All marginals of so many attributes.

        Parameters
        ----------
        ways : a number, or a list of numbers; 0 is the number of all rows.
        of : the attributes that they are taken from; by default all.
        options : as for ``marginal``.

        Raises
        ------
        WorkloadError, TooLargeError : as ``marginal``; more products than a workload may have.

        >>> import mmopt
        >>> mmopt.Domain.of(a=[1, 2], b=[1, 2, 3], c=[1, 2]).marginals(ways=2)
        Workload(16 queries over 12 cells, 3 products)
        """
        from mmopt.request import read_entry

        chosen = {"ways": ways} if of is None else {"ways": ways, "of": of}
        return read_entry(cast("Domain", self), "marginals", chosen, options)

    def products(self, ways: Any, each: Any, of: Any = None, **options: object) -> Workload:
        """Every product of so many attributes, each with the same block.

        Parameters
        ----------
        ways, of : as ``marginals``. each : a block as in a workload file, such as "prefix".
        options : as for ``marginal``.

        Raises
        ------
        WorkloadError, TooLargeError : as ``marginals``.

        >>> import mmopt
        >>> mmopt.Domain.of(**{name: range(10) for name in "abcd"}).products(ways=[1, 2], each="prefix")
        Workload(640 queries over 10,000 cells, 10 products)
        """
        from mmopt.request import read_entry

        chosen = {"ways": ways, "each": each} | ({} if of is None else {"of": of})
        return read_entry(cast("Domain", self), "products", chosen, options)

    def product(self, blocks: Any = None, /, **more: object) -> Workload:
        """Every combination of the queries of blocks, one block per attribute; attributes not named: total.

        Parameters
        ----------
        blocks, more : by attribute, a block as in a workload file: "identity", "prefix", {"width_range": 2},
            a group, [["[0, 18)", "[18, 65)"]]. Among ``more`` are the options of ``marginal``; an attribute
            with the name of an option is given in ``blocks``.

        Raises
        ------
        WorkloadError : as ``marginal``, with the place, as ``product.age[0]``. TooLargeError : long lists.

        >>> import mmopt
        >>> d = mmopt.Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})
        >>> young = d.product(sex="identity", age=[["[0, 18)", "[18, 65)"]], max_variance=50.0)
        >>> young.labels()
        ['sex=Female, age in [0, 18) or [18, 65)', 'sex=Male, age in [0, 18) or [18, 65)']
        >>> d.product(agee="prefix")
        Traceback (most recent call last):
        ...
        mmopt.errors.WorkloadError: product.agee: the domain has no attribute 'agee'
          did you mean 'age'?
        """
        from mmopt.request import read_product

        return read_product(cast("Domain", self), blocks, more)


class WorkloadForms:
    """The ways to read a Workload."""

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Workload:
        """The workload of a workload file; errors name the place in the file."""
        from mmopt.request import load_request

        return load_request(path).workload

    @staticmethod
    def of(described: Mapping[str, object] | None = None, /, **keys: object) -> Workload:
        """The workload of a dictionary with the keys of a workload file; its privacy is ignored.

        Parameters
        ----------
        described, keys : domain and workload, and predicates, normalise, data if wanted, as in the file.
            ``domain`` may be a ``Domain`` too. Values as for ``Domain.of``.

        Raises
        ------
        WorkloadError : as for a file, with the place, as ``workload[2].product.age``.
        PrivacyError : invalid privacy parameters. TooLargeError : more than a limit allows.

        >>> import mmopt
        >>> mmopt.Workload.of(
        ...     domain={"age": {"range": [0, 60], "width": 5}},
        ...     workload=[{"product": {"age": "prefix"}, "max_variance": 50.0}],
        ... )
        Workload(12 queries over 12 cells, 1 product, 12 with a target)
        """
        from mmopt.request import Request

        return Request.of(described, **keys).workload
