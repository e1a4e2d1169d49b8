"""The items of the ledger, one family per module."""
