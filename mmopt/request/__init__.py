"""The workload file: a YAML 1.2 text becomes a ``Request``, or an error with file, line and column.

Top level (``domain`` and ``workload`` are needed)::

    domain: {attribute: form, …}             # the cells; the last attribute varies fastest
    workload: [entry, …]                     # the queries
    predicates: {attribute: {name: block}}   # named blocks; each may use those above it
    normalise: rows                          # optimise for relative error: see below
    privacy: {epsilon: 1.0, delta: 1.0e-6}   # or {rho: 0.5}
    unit: {column: person, rows: 3}          # whom it protects: see below
    neighbours: add-remove                   # or the same as the set of tables: see below
    data: {outside: refuse, missing: refuse} # or drop: values outside the domain, and NULL, everywhere
    known: {total: 29501}                    # public answers: of all rows that are counted, of labels

``data`` also takes ``table: people`` (for a database with several), ``delimiter: "~"`` (for a text file; or
``tab``; by default detected from its header) and ``weight: n``, the column with the number of rows of a line
in an aggregated table; the guarantee then protects one of these rows. The weights of a survey's design, such
as 1.5, are no numbers of rows: totals by them are not released, and without ``weight`` each line is a row.

``null: [NA, "N/A", ".", -9]`` lists the words that stand for a missing value, in every column: texts, numbers
or days. Blanks around them do not count; upper and lower case does. Texts that are empty or blank are missing
without it, as are NULL and, among numbers, NaN. A value that a cell lists stays a value: with ``values: [DE,
NA]``, ``NA`` is Namibia. A number or a day within a bin is missing where ``null`` lists it, in every column;
``mmopt check`` says so. Among instants (``zone``) only NULL is missing.

``spelling: loose`` reads a text as the declared one from which it differs by blanks around it, by upper and
lower case, by zeros in front of a whole number (``1`` for ``"01"``), or by a point and zeros after it
(``1.0``); where that makes values of two cells alike, the attribute is read as it is written. The default is
``exact``. Persons are always told apart as they are written: were two of them taken for one, the rows that
are counted of either would depend on the other's.

A number in a text has a decimal point and no mark at thousands (``1500.5``, so ``12.000`` is twelve), a day
is ``2020-12-31``. Other ways are named under ``spelling``, one or a list (``[loose, decimal comma]``):
``decimal comma`` reads ``12.000,5``, ``12,5`` and ``12.000`` (12 thousand), and refuses ``12.5``;
``thousands commas`` reads ``12,000.5``, ``thousands apostrophes`` ``12'000.5``; ``DD.MM.YYYY``,
``DD/MM/YYYY`` or ``MM/DD/YYYY`` read days, with a time or without.

A release of answers reveals that no
row of its table was refused. The column of an attribute that every query sums over is not read, unless it
drops rows.

``unit`` says whom the guarantee protects; without it that is one row. ``{column: person, rows: 3}``: a
person, a value of that column. At most three rows of each are counted, those that a hash of that person's
rows puts first; so one more person changes no more, with any number of rows. Rows that ``outside`` and
``missing`` refuse are refused in all cases, rows that they drop are dropped before the choice, and a row
without a person (NULL) is refused. ``{rows: 3}``: a person with at most three rows, which is not checked.

``neighbours``, in place of ``unit``, says which tables the guarantee makes hard to tell apart:
``add-remove``, by one row (the default, unless the program has another); ``replace-one``, by one row that is
replaced by another (where no rule drops rows their number is published as it is); ``{rows: 3}``, by up to
three rows of one person, or
``{participation: {separation: 4, at_most: 2}}``, by one person in a stream. There the steps are the cells of
the one attribute, in their declared order (so write ``values`` in the order of time), and a person has at
most one row in a step, added or removed, in at most two steps, any two of them four or more apart. Rows that
are in no step are dropped or refused, not given a cell. That no person has more rows is not checked.

``known`` states answers that are public anyway: that of all rows, and by its label (``sex=F: 14997``) a
query's. They are not read from the table, change no noise, and are met by refined answers, whose guarantee
does not cover what they say. Of persons (``unit`` with a column) no total of counted rows is public.

Forms of an attribute, one of::

    sex:    {values: [Female, Male]}                     # a cell per table value: text, number, true or false
    age:    {bins: [0, 18, 65, 115]}                     # half-open cells [0, 18), [18, 65), [65, 115)
    income: {range: [0, 100], width: 5}                  # bins [0, 5), …, [95, 100)
    year:   {range: [0, 60], width: 1}                   # bins labelled by their integer: 0, 1, …, 59
    region: {categories: {North: [ME, NH], South: [GA]}} # a cell holds any of several table values
    joined: {bins: [2020-01-01, 2020-04-01, open]}       # dates: cells 2020-Q1 and >= 2020-04-01
    born:   {range: [1990-01-01, 2020-01-01], width: year}  # or day, week, month, quarter, 10 days
    county: {nested: {Vermont: [Addison, Windham], Guam: }, levels: [state]}  # see "Levels" below

each with any of::

    column: age_p                            # the column of the table that is read; else the attribute's name
    groups: {minors: ["[0, 18)"], adults: [18-64, 65-114]}  # named sets of cells
    outside: drop                            # or refuse, or the label of the cell that takes such values
    missing: South                           # the same for missing values: NULL, NaN, blanks, null
    missing: {cell: unknown}                 # a new cell takes them; the same for outside, which may share it
    zone: Europe/Berlin                      # of dates: whose days, where the column holds instants

A cell is named by its label or its table value. ``18-64`` is a run of integers, both ends included; it must
start and end where cells do. In ``values`` and ``categories`` it is one text, as ``I00-I99`` is: of codes
count the first letters, a column made in a view or a copy of the table. A value that starts with a zero
(``01``) needs quotes; ``NO`` is a text.

``open`` (or ``-.inf``, ``.inf``) as the first or last edge leaves a bin open; infinities fall into it. Its
label is ``< 18`` or ``>= 65``. A bin of one day, month, quarter or year is labelled ``2020-01-31``,
``2020-01``, ``2020-Q1`` or ``2020``, another one of dates ``[2020-01-01, 2020-02-14)``; such a period also
names the cells that make it up. Dates are read from columns of dates, of timestamps without a time zone
(their day), and of texts such as ``2020-01-31`` or ``2020-01-31 12:00+02:00`` (the day as written, in
the offset of that row). A timestamp with a time zone is an instant, whose day ``zone`` decides: a day begins
there when the clocks first show it.

Columns of PostgreSQL's and DuckDB's enumerations are texts, and `mmopt init` writes their values, which are
schema; UUIDs are texts; PostgreSQL's money is a number, its domains are what they are of. Arrays, JSON,
intervals, times of day, bytes, addresses, ranges, bits and composite types are no attribute: `mmopt init`,
`mmopt check FILE TABLE` and a release say so before any work, with SQL for a value that can be counted.

Levels are named sets of the cells of one attribute, such as states of counties. The leaves of the tree
under ``nested`` are its cells, table values as in ``values``; ``levels`` names what is above them, from the
top, and a further level is written ``{Texas: {Coast: [Harris, Nueces], Travis: }}``. A branch may end early:
a state without counties is its own county. In place of the tree ``nested: counties.csv`` names a file, its
path relative to the workload file, with a row for each leaf and a column for each level and for the
attribute, blank below a branch that ends. A query names a level in place of the attribute, ``marginal:
[state, sex]`` or ``product: {state: [Vermont, [Guam, Texas]], age: prefix}``, where all blocks and the sets'
names are words; so its name is that of no attribute. A query uses one level of an attribute; ``[state.county,
sex]`` says with the levels above it which one. Answers have a column for each level. Cells that ``missing``
and ``outside`` add are sets of their own in every level.

The column of the table holds leaves. Where their names repeat between branches (county 001 of each state)
``column: [state, county]`` lists one for each level and for the attribute; then cells and sets are called
``48/001``. Fields that are missing are left out, so ``11`` alone is a row of a state without counties; a row
whose first field is missing is missing.

Cells that ``missing`` and ``outside`` add come after the others, that of ``outside`` first. ``identity`` and
marginals have a query for each, ``total`` counts them, lists and groups may name them. All other blocks are
over the declared cells alone, which have an order.

Entries of the workload, one of::

    - marginal: [sex, age]                   # every combination of their cells
    - marginals: {ways: [0, 1, 2]}           # all marginals of so many attributes; 0: the number of all rows
    - marginals: {ways: 2, of: [sex, age, income]}  # among these attributes
    - products: {ways: [1, 2], each: prefix} # every product of so many attributes, each with this block
    - products: {ways: 2, each: prefix, of: [sex, age]}  # of these
    - product: {sex: block, age: block}      # every combination of their queries; attributes not named: total

each with any of::

    name: income by age                      # names are unique; unnamed entries may stand twice
    weight: 2.0                              # multiplies the squared error of its queries
    max_variance: 50.0                       # target: largest variance of each query, in squared counts
    within: 50                               # or as a wish: half the width of an interval, in counts,
    confidence: 0.99                         # that holds the truth with this probability; 0.95 if not said
    subworkload: PL94                        # a part of the workload, for `mmopt tune`

Blocks of queries on one attribute::

    sex: identity                            # one query per cell
    sex: total                               # one query: all cells
    age: prefix                              # first cell, first two cells, …
    age: all_range                           # every range of neighbouring cells
    age: {width_range: 2}                    # every range of two neighbouring cells
    age: hierarchy                           # all cells, their halves, and so on down to single cells
    age: {hierarchy: 4}                      # the same by quarters
    race: haar                               # all cells, then differences of halves; for 2, 4, 8, … cells
    age: adults                              # one query: a group, a value or a run
    age: [minors, adults, 65-114]            # one query each
    race: [[White], [Black, Asian]]          # one query per list: the cells of its members together
    race: {predicates: [[White], [Black, Asian]]}  # the same
    age: {each: [0-20, 30]}                  # one query per cell of these
    age: {union: [identity, total, [minors]]}  # the queries of several blocks
    age: {reordered: prefix, order: [65-114, 18-64, minors]}  # as if the cells stood in this order
    age: five_years                          # a block named under ``predicates``

A name under ``predicates`` may be another block for each attribute: with ``predicates: {age: {asked:
prefix}, sex: {asked: identity}}`` the entry ``products: {ways: [1, 2], each: asked}`` has prefixes of ages,
and of ages by sex.

``normalise: rows`` divides the weight of each query by its squared length (the sum of its squared entries),
so that long queries, which count many rows, may have larger errors: a heuristic for low relative error (PVLDB
2012, section 3.4). ``weight`` multiplies the result. Answers, standard errors and targets stay those of
the queries as written.

Anchors and aliases (``&a``, ``*a``) may be used; tags, merge keys and several documents may not.

In Python the same is a dictionary (``Workload.of``, ``Request.of``) or a sum of calls (``Domain.of``,
``Domain.product``). Dates are their ISO texts, an attribute may be a list of its values, and errors name a
path in place of line and column: ``workload[2].product.age``.

Files here:

- ``workload_file_and_arguments.py``: a workload file as a whole, and workloads as callers pass them, in
  Python values too; the program that is solved when none is named
- ``domain_data_and_query_keys.py``: the keys ``domain`` and ``data``; blocks, products, marginals of queries
- ``attribute_cells_and_block_words.py``: the cells of one attribute, words for them and for queries on it
- ``yaml_tree.py``: the text of a workload file, its values with their places, and small readers of them
"""

from mmopt.privacy.epsilon_delta_rho import Privacy
from mmopt.request.domain_data_and_query_keys import TableOptions
from mmopt.request.workload_file_and_arguments import (
    Request,
    WorkloadLike,
    as_domain,
    as_request,
    as_workload,
    default_program,
    load_request,
    parse_request,
    read_attributes,
    read_entry,
    read_product,
    refuse_workload,
)
from mmopt.strategies import Neighbours

__all__ = [
    "Neighbours",
    "Privacy",
    "Request",
    "TableOptions",
    "WorkloadLike",
    "as_domain",
    "as_request",
    "as_workload",
    "default_program",
    "load_request",
    "parse_request",
    "read_attributes",
    "read_entry",
    "read_product",
    "refuse_workload",
]
