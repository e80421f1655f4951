"""The methods for frequencies of all items of a finite space: names, oracles and times, in one table.

A frequency oracle is one row here, with its name in ``ItemMethod`` for type checkers. Questions, SQL, reports, the
choice among methods and the audit read the table. It loads no oracle: most statements need none.
"""

import math
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from emdp.base.classes import dataclass

if TYPE_CHECKING:
    from emdp.mechanisms.oracles.oracle import FrequencyOracle

__all__ = ["METHODS", "ItemMethod", "Method", "item_methods", "oracle_at"]

ItemMethod = Literal[
    "auto",
    "histogram",
    "itemwise",
    "hadamard",
    "krr",
    "rappor",
    "unary",
    "subset",
    "projective",
    "response",
    "recoverable",
]
"""Names of methods that an analyst may choose: ``"auto"`` is the best for space, price and model."""


@dataclass(frozen=True)
class Method:
    """One method."""

    # Loads the oracle of users; None for noise on the averaged histogram and for item-wise release.
    oracle: "Callable[[], type[FrequencyOracle]] | None" = None
    # Its place by the time that it takes, about: of methods with nearly the least error that with the least is taken. A
    # method whose time nobody has measured is taken for the slowest.
    slowness: float = math.inf
    is_weighed: bool = True  # Whether the automatic choice weighs it; else it is taken where it is named


def oracle_at(module: str, name: str) -> "Callable[[], type[FrequencyOracle]]":
    """Return what loads an oracle from a module of :mod:`emdp.mechanisms.oracles`.

    >>> oracle_at("krr", "KRROracle")().name
    'k-ary randomised response'
    """

    def load() -> "type[FrequencyOracle]":
        found: type[FrequencyOracle] = getattr(import_module(f"emdp.mechanisms.oracles.{module}"), name)
        return found

    return load


METHODS: dict[str, Method] = {
    "histogram": Method(None, 0),
    "itemwise": Method(None, 8),
    "hadamard": Method(oracle_at("hadamard_bit", "OneBitHadamardOracle"), 4),
    "krr": Method(oracle_at("krr", "KRROracle"), 1),
    "rappor": Method(oracle_at("rappor", "RapporOracle"), 3),
    "unary": Method(oracle_at("unary", "UnaryOracle"), 2),
    "subset": Method(oracle_at("subset", "SubsetOracle"), 7),
    "projective": Method(oracle_at("projective", "ProjectiveOracle"), 6),
    "response": Method(oracle_at("hadamard_response", "HadamardResponseOracle"), 5),
    "recoverable": Method(oracle_at("recoverable", "RecoverableOracle"), 9, is_weighed=False),
}
"""Noise on the averaged histogram; item-wise release; oracles of users. By name."""


def item_methods() -> tuple[str, ...]:
    """Return the names that may be asked for.

    >>> item_methods()[:3]
    ('auto', 'histogram', 'itemwise')
    """
    return ("auto", *METHODS)
