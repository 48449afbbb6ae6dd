"""What releases of one data set have cost in all, kept in a file that no release can spend more from.

- ``account.py``: what a ledger declares and what was spent from it, as values
- ``part_accounts.py``: the values that the name of a part may spell: one account for each
- ``composition.py``: what a release costs, and what many cost together
- ``explanation.py``: why the total holds, in words
- ``ledger_file.py``: the file: read, spent from and written in transactions of SQLite
- ``ledger_rows.py``: the rows of that file, as texts with a checksum and back
- ``charge.py``: one release: refused or charged before its noise is drawn, and confirmed when it is written
- ``privacy_ledger.py``: ``Ledger``: a ledger as users hold it: created, listed, exported, explained
"""

from mmopt.ledger.account import Account, Entry, Terms
from mmopt.ledger.charge import Bill, Charge, charge_in_errors
from mmopt.ledger.privacy_ledger import Ledger

__all__ = ["Account", "Bill", "Charge", "Entry", "Ledger", "Terms", "charge_in_errors"]
