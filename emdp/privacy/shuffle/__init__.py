"""Accountants of the shuffle model: items and users, one round and many (EMD 3)."""
