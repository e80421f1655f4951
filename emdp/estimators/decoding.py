"""Estimates from messages that came from a file, by what the file says of them."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from emdp.estimators.frequency.histograms import OracleRelease
from emdp.estimators.mean.local import LocalRow
from emdp.estimators.mean.message_select import MadeItem, MessageRow
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate
from emdp.mechanisms.local.tiered_bits import TieredBits
from emdp.mechanisms.oracles.tiered import TieredOracle
from emdp.questions.keyed import KeyedMessages

__all__ = ["decoded_frame"]


def decoded_frame(messages: KeyedMessages, symbols: Any, tier: int, level: float) -> pl.DataFrame:
    """Return the rows of a tier's readers from messages that came from a file, which may say anything.

    Parameters
    ----------
    messages : KeyedMessages
        With the facts that their release wrote.
    symbols : numpy.ndarray of int64
        What the readers have of each message.
    level : float
        Coverage of each interval.

    Raises
    ------
    EmdpError, LookupError, OverflowError, TypeError, ValueError
        If the facts are of no release.
    """
    facts: Mapping[str, Any] = messages.facts
    if facts["what"] == "means":
        return _means(facts, messages.places, symbols, tier, level)
    columns = {str(name): list(map(str, values)) for name, values in facts["items"].items()}
    if not columns or messages.symbols < 2:
        raise ValueError
    items, name = len(next(iter(columns.values()))), str(facts["name"])
    oracle = TieredOracle(facts["method"], items, facts["users"], tuple(map(float, facts["epsilons"])))
    if len(messages.places) and int(messages.places.max()) >= oracle.tiers[0].outputs:
        raise ValueError
    values = oracle.estimate(messages.places, symbols, tier)
    low, high = OracleRelease(oracle.tiers[tier - 1], 0).intervals(np.asarray(values), level, False)
    return pl.DataFrame({**columns, name: values, f"{name}_low": low, f"{name}_high": high})


def _means(facts: Mapping[str, Any], places: Any, symbols: Any, tier: int, level: float) -> pl.DataFrame:
    names, is_dealt = tuple(map(str, facts["names"])), facts["is_dealt"]
    if type(is_dealt) is not bool or facts["each"] != (1 if is_dealt else len(names)):
        raise ValueError
    laws = [
        LocalOneBit(tuple(OneBitCoordinate(*map(float, one)) for one in own), facts["users"], is_dealt)
        for own in facts["bits"]
    ]
    bits = TieredBits(tuple(laws))
    row = LocalRow(names, bits.tier(tier))
    rows: LocalRow | MessageRow = row
    if "items" in facts:
        made = tuple(
            MadeItem(str(name), place, Fraction(float(centre)), below, float(low), float(high))
            for name, place, centre, below, low, high in facts["items"]
        )
        rows = MessageRow(tuple(own.name for own in made), made, row, tuple(map(str, facts["listed"])))
    return rows.frame((bits.estimate(places, symbols, tier),), level)
