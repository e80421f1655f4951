"""Messages of users for several readers: what everybody may see, and the keys of the stronger readers."""

from collections.abc import Mapping
from typing import Any

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

__all__ = ["MOST_KEYED", "KeyedMessages"]

MOST_KEYED = 10_000_000
"""Most messages of one release with keys: they are kept, and written, one by one."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyedMessages:
    """Messages of one release in an order that tells nothing, with the keys of its tiers.

    Parameters
    ----------
    release : str
        Random name of the release, which its keys have too.
    facts : mapping
        What is public of the messages, ready for JSON: enough to estimate from them.
    places, sent : numpy.ndarray of int64
        Shape (users,): a public place, and the symbol that everybody sees.
    keys : tuple of numpy.ndarray of int64
        Shape (users,) each: of tier 1 and on, but the last, which has none.
    """

    release: str
    facts: Mapping[str, Any]
    places: Integers
    sent: Integers
    keys: tuple[Integers, ...]
    symbols: int

    @property
    def tiers(self) -> int:
        """Number of tiers."""
        return len(self.keys) + 1

    def decoded(self, tier: int) -> Integers:
        """Return the symbols that the readers of a tier have."""
        if type(tier) is not int or not 1 <= tier <= self.tiers:
            raise UsageError(f"tier must be a number from 1 to {self.tiers}, got {tier!r}; pass one of these.")
        return self.sent if tier == self.tiers else (self.sent - self.keys[tier - 1]) % self.symbols

    def __repr__(self) -> str:
        return f"KeyedMessages({len(self.sent)} messages, {self.tiers} tiers)"
