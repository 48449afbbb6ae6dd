"""The ledger of a data set: a file with the cost of all its releases, which never passes a total.

- ``account.py``: the accounts of a ledger: what is declared, spent, composed; the names of parts
- ``privacy_ledger.py``: ``Ledger``: created, listed, charged, exported, explained
- ``ledger_file.py``: the file of a ledger: its rows, read and changed in transactions of SQLite
"""

from mmopt.ledger.account import Account, Entry, Terms
from mmopt.ledger.privacy_ledger import Bill, Charge, Ledger

__all__ = ["Account", "Bill", "Charge", "Entry", "Ledger", "Terms"]
