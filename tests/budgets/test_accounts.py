"""Budgets read back from a ledger: a charge that cannot be read, or that no budget paid, is an error and no gift."""

from pathlib import Path
from typing import Any

import pytest

import emdp
from emdp.base.errors import LedgerError
from emdp.budgets.declarations import space_digest
from emdp.ledger import open_ledger
from emdp.spaces import Geo

ROWS = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}


def opened(folder: Path) -> emdp.Session:
    table = emdp.read(ROWS, user="user", space=emdp.Interval("x", 0, 1), users=2, name="data")
    return emdp.Session(table, budget=emdp.EmdDP(alpha=10), ledger=folder / "x.ledger")


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"budget": None}, "lacks its 'budget'"),
        ({"event": None}, "lacks its 'event'"),
        ({"budget": "bounded central EmdDP"}, "charges a budget that the ledger lacks"),
        ({"budget": "unbounded central EmdDP "}, "charges a budget that the ledger lacks"),
        ({"budget": ["unbounded central EmdDP"]}, "charges a budget that the ledger lacks"),
    ],
)
def test_a_charge_that_no_budget_paid_is_refused(tmp_path: Path, changed: dict[str, Any], text: str) -> None:
    with opened(tmp_path) as session:
        session.mean(emdp.col("x"), alpha=4)
        assert session.remaining().alpha == 6  # type: ignore[attr-defined]
    with open_ledger(tmp_path / "x.ledger") as ledger:
        charged = ledger.entries("data", "charge")[-1].payload
        ledger.append(
            "charge",
            "data",
            {name: changed.get(name, value) for name, value in charged.items() if changed.get(name, value) is not None},
        )
    with opened(tmp_path) as session, pytest.raises(LedgerError, match=text):
        session.remaining()
    with opened(tmp_path) as session, pytest.raises(LedgerError, match=text):
        session.mean(emdp.col("x"), alpha=1)


def test_a_second_charge_that_is_sound_is_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.mean(emdp.col("x"), alpha=4)
    with open_ledger(tmp_path / "x.ledger") as ledger:
        ledger.append("charge", "data", ledger.entries("data", "charge")[-1].payload)
    with opened(tmp_path) as session:
        assert session.remaining().alpha == 2  # type: ignore[attr-defined]


def test_that_a_box_is_meant_as_it_stands_is_no_part_of_what_a_ledger_pins() -> None:
    """Ledgers from before it had to be said hold the same space."""
    said = Geo("lon", "lat", box=(40.48, -74.26, 40.92, -73.70), as_given=True).to_json()
    before = {name: value for name, value in said.items() if name != "as_given"}
    assert said != before
    assert space_digest(said) == space_digest(before)
    for key, value in (("parts", lambda space: [space]), ("inner", lambda space: space)):
        assert space_digest({key: value(said)}) == space_digest({key: value(before)})
