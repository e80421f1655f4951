"""What an engine computes of rows with owners as a table of as many rows as the data make: exact, private, hidden."""

from typing import TypeAlias

from emdp.questions.owned.groups import OwnedGroups

__all__ = ["OwnedFrame"]

OwnedFrame: TypeAlias = OwnedGroups
