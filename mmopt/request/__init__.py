"""The workload file: a YAML 1.2 text that is read into a ``Request``. Errors name file, line and column.

Top level (``domain`` and ``workload`` are required)::

    domain: {attribute: form, …}             # the cells; the last attribute varies fastest
    workload: [entry, …]                     # the queries
    predicates: {attribute: {name: block}}   # named blocks; each may use those above it
    normalise: rows                          # optimise for relative error: see below
    privacy: {epsilon: 1.0, delta: 1.0e-6}   # or {rho: 0.5}
    unit: {column: person, rows: 3}          # who is protected: see below
    neighbours: add-remove                   # the same, as pairs of tables: see below
    data: {outside: refuse, missing: refuse} # or drop: rules for values outside the domain, and for NULL
    known: {total: 29501}                    # public answers: of all counted rows, or by label

``data`` has further keys. ``table: people`` names the table, if a database has several. ``delimiter: "~"``
(or ``tab``) is for text files; by default it is detected from the header. ``weight: n`` is for an aggregated
table: the column ``n`` holds the number of rows that each line represents, and the guarantee protects one of
these rows. Survey design weights, such as 1.5, are not numbers of rows. Totals weighted by them are not
released; leave ``weight`` out, and each line is one row.

``null: [NA, "N/A", ".", -9]`` lists words for a missing value, in every column: texts, numbers or days.
Blanks around them do not matter; case does. Empty and blank texts, NULL, and NaN in numbers are always
missing. A value that is listed for a cell stays a value: with ``values: [DE, NA]``, ``NA`` is Namibia. A
number or day inside a bin is missing if ``null`` lists it, in every column; ``mmopt check`` says so. In a
column of instants (``zone``) only NULL is missing.

``spelling: loose`` ignores differences between a text and a declared value in blanks around it, in case, in
zeros before a whole number (``1`` for ``"01"``), and in a point and zeros after it (``1.0``). If this would
make values of two cells equal, that attribute is read exactly. The default is ``exact``. Persons are always
compared exactly: if two of them were taken for one, the rows counted for one would depend on the rows of the
other.

A number in a text has a decimal point and no thousands mark (``1500.5``; ``12.000`` is twelve). A day is
``2020-12-31``. Other formats are named under ``spelling``, one or a list (``[loose, decimal comma]``):
``decimal comma`` reads ``12.000,5``, ``12,5`` and ``12.000`` (12 thousand), and refuses ``12.5``;
``thousands commas`` reads ``12,000.5``, and ``thousands apostrophes`` reads ``12'000.5``; ``DD.MM.YYYY``,
``DD/MM/YYYY`` or ``MM/DD/YYYY`` read days, with or without a time.

A release reveals that no row of its table was refused. If every query sums over an attribute, its column is
not read, unless it has a rule that drops rows.

``unit`` says who is protected. Without it, that is one row. ``{column: person, rows: 3}`` protects a person,
that is, all rows with one value of that column. At most three rows of each person are counted; a hash of the
person's rows decides which. So adding a person has a bounded effect, whatever the number of their rows. Rows
that ``outside`` and ``missing`` refuse are always refused. Rows that they drop are dropped before rows are
chosen. A row without a person (NULL) is refused. ``{rows: 3}`` protects a person with at most three rows;
that nobody has more is assumed, not checked.

``neighbours`` can be used in place of ``unit``. It says which pairs of tables the guarantee makes hard to
distinguish. ``add-remove``: they differ by one row, added or removed (the default, unless the program says
otherwise). ``replace-one``: one row is replaced by another; if no rule drops rows, the number of rows is
published exactly. ``{rows: 3}``: they differ by up to three rows of one person. ``{participation:
{separation: 4, at_most: 2}}``: they differ by one person in a stream. The steps of the stream are the cells
of the only attribute, in their declared order (so write ``values`` in the order of time). A person has at
most one row in a step, in at most two steps, and any two of these are four or more apart. Rows outside all
steps must be dropped or refused; they cannot have a cell. That nobody has more rows is not checked.

``known`` states answers that are public: the number of all rows, or the answer to one query by its label
(``sex=F: 14997``). They are not read from the table and do not change the noise. Refined answers agree with
them. The guarantee does not cover what they reveal. With a ``unit`` that has a column, the total of counted
rows is not public, so it cannot be stated.

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

    column: age_p                            # the column of the table; by default the attribute's name
    groups: {minors: ["[0, 18)"], adults: [18-64, 65-114]}  # named sets of cells
    outside: drop                            # or refuse, or the label of a cell that counts such values
    missing: South                           # the same for missing values: NULL, NaN, blanks, null
    missing: {cell: unknown}                 # a new cell counts them; outside may share it
    zone: Europe/Berlin                      # time zone of dates, if the column holds instants

A cell is named by its label or its table value. ``18-64`` is a run of integers, both ends included; it must
start and end at ends of cells. In ``values`` and ``categories``, however, ``18-64`` is one text, and so is
``I00-I99``. To count codes by their first letters, add a column for them in a view or copy of the table. A
value that starts with a zero (``01``) needs quotes. ``NO`` is a text.

``open`` (or ``-.inf``, ``.inf``) as the first or last edge makes an open bin; infinities fall into it. Its
label is ``< 18`` or ``>= 65``. A bin of one day, month, quarter or year has the label ``2020-01-31``,
``2020-01``, ``2020-Q1`` or ``2020``; other bins of dates have labels like ``[2020-01-01, 2020-02-14)``. The
name of such a period also stands for the cells that it consists of. Dates are read from columns of dates, of
timestamps without a time zone (their day), and of texts such as ``2020-01-31`` or ``2020-01-31 12:00+02:00``
(the day as written, in that row's offset). A timestamp with a time zone is an instant. Its day is the day in
``zone``, where a day begins when the clocks first show it.

Enumerations of PostgreSQL and DuckDB are texts; `mmopt init` writes their values, which belong to the schema.
UUIDs are texts. PostgreSQL's money is a number, and a PostgreSQL domain is read as its base type. Arrays,
JSON, intervals, times of day, bytes, addresses, ranges, bits and composite types cannot be attributes. `mmopt
init`, `mmopt check FILE TABLE` and a release say so before any work, with SQL for a value that can be
counted.

Levels are named sets of cells of one attribute, such as states of counties. The leaves of the tree under
``nested`` are the cells, with table values as in ``values``. ``levels`` names the levels above them, from the
top. A further level is written ``{Texas: {Coast: [Harris, Nueces], Travis: }}``. A branch may end early: a
state without counties is its own county. Instead of the tree, ``nested: counties.csv`` names a file, with its
path relative to the workload file. The file has a row for each leaf, and a column for each level and for the
attribute, blank below the end of a branch. A query can name a level in place of the attribute, as in
``marginal: [state, sex]`` or ``product: {state: [Vermont, [Guam, Texas]], age: prefix}``. All blocks can be
used there, and the names of the sets. So a level cannot have the name of an attribute. A query uses one level
of an attribute; ``[state.county, sex]`` identifies it by the levels above it. Answers have a column for each
level. Cells that ``missing`` and ``outside`` add are sets of their own in every level.

The column of the table holds leaves. If the same names occur in several branches (county 001 of each state),
``column: [state, county]`` lists a column for each level and for the attribute. Cells and sets are then
called ``48/001``. Missing fields are left out, so ``11`` alone is a row of a state without counties. A row
whose first field is missing counts as missing.

Cells that ``missing`` and ``outside`` add come after the others, with that of ``outside`` first. ``identity``
and marginals have a query for each of them, ``total`` counts them, and lists and groups may name them. All
other blocks use only the declared cells, which have an order.

Entries of the workload, one of::

    - marginal: [sex, age]                   # every combination of their cells
    - marginals: {ways: [0, 1, 2]}           # all marginals of that many attributes; 0: the number of rows
    - marginals: {ways: 2, of: [sex, age, income]}  # among these attributes
    - products: {ways: [1, 2], each: prefix} # every product of that many attributes, each with this block
    - products: {ways: 2, each: prefix, of: [sex, age]}  # of these
    - product: {sex: block, age: block}      # every combination of their queries; other attributes: total

each with any of::

    name: income by age                      # names are unique; unnamed entries may repeat
    weight: 2.0                              # multiplies the squared error of its queries
    max_variance: 50.0                       # target: largest variance of each query, in squared counts
    within: 50                               # the same as an interval: its half width, in counts,
    confidence: 0.99                         # and the probability that it holds the truth; default 0.95
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
    age: {reordered: prefix, order: [65-114, 18-64, minors]}  # as if the cells were in this order
    age: five_years                          # a block named under ``predicates``

A name under ``predicates`` may mean a different block for each attribute. With ``predicates: {age: {asked:
prefix}, sex: {asked: identity}}``, the entry ``products: {ways: [1, 2], each: asked}`` has prefixes of ages,
and of ages by sex.

``normalise: rows`` divides the weight of each query by its squared length (the sum of its squared entries).
Long queries, which count many rows, may then have larger errors. This is a heuristic for low relative error
(PVLDB 2012, section 3.4). ``weight`` multiplies the result. Answers, standard errors and targets still refer
to the queries as written.

Anchors and aliases (``&a``, ``*a``) are allowed. Tags, merge keys and several documents are not.

In Python, write the same as a dictionary (``Workload.of``, ``Request.of``) or as a sum of calls
(``Domain.of``, ``Domain.product``). Dates are ISO texts, an attribute may be a list of its values, and errors
name a path instead of line and column: ``workload[2].product.age``.

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
