"""ORDER BY, LIMIT and OFFSET change no number: they sort and cut the finisher's rows."""

from fractions import Fraction

import polars as pl
import pytest

from emdp.base.errors import UsageError
from emdp.estimators.columns.ordering import Ordered, ordered
from emdp.questions.columns import Released
from emdp.questions.select import Order

NAMES = ("kind", "km", "km_low", "km_high")


class Rows:
    """A finisher that ignores what it is given."""

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "kind": ["b", "a", "d", "c"],
                "km": [2.0, None, 2.0, 1.0],
                "km_low": [level] * 4,
                "km_high": [together] * 4,
            }
        )

    def exact(self, statistics: Released) -> pl.DataFrame:
        return pl.DataFrame({"kind": ["b", "a", "d", "c"], "km": [2.0, None, 2.0, 1.0]})


RELEASED: Released = ((Fraction(0),),)


def kinds(*order: Order, limit: int | None = None, offset: int = 0) -> list[str]:
    finisher = ordered(Rows(), order, limit=limit, offset=offset, columns=("kind", "km"))
    return finisher.frame(RELEASED, 0.95).get_column("kind").to_list()


def test_rows_are_sorted_by_every_key_with_nulls_last_and_ties_in_natural_order() -> None:
    assert kinds(Order("km")) == ["c", "b", "d", "a"]
    assert kinds(Order("km", is_descending=True)) == ["b", "d", "c", "a"]
    assert kinds(Order("km", nulls_last=False)) == ["a", "c", "b", "d"]
    assert kinds(Order("km"), Order("kind", is_descending=True)) == ["c", "d", "b", "a"]
    assert kinds(Order("kind")) == ["a", "b", "c", "d"]


def test_limit_and_offset_count_rows_after_sorting() -> None:
    assert kinds(Order("km"), limit=2) == ["c", "b"]
    assert kinds(Order("km"), limit=2, offset=1) == ["b", "d"]
    assert kinds(offset=3) == ["c"]
    assert kinds(limit=0) == []
    assert kinds(limit=9, offset=9) == []


def test_level_and_coverage_reach_the_finisher() -> None:
    frame = ordered(Rows(), (Order("kind"),), limit=1, offset=0, columns=NAMES).frame(RELEASED, 0.5, together=True)
    assert frame.row(0) == ("a", None, 0.5, True)


def test_exact_values_keep_the_natural_order_and_all_rows() -> None:
    finisher = ordered(Rows(), (Order("kind"),), limit=1, offset=1, columns=NAMES)
    assert finisher.exact(RELEASED).get_column("kind").to_list() == ["b", "a", "d", "c"]


def test_nothing_asked_for_leaves_the_finisher_as_it_is() -> None:
    finisher = Rows()
    assert ordered(finisher, (), limit=None, offset=0, columns=NAMES) is finisher
    assert isinstance(ordered(finisher, (), limit=0, offset=0, columns=NAMES), Ordered)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="order names 'price'"):
        ordered(Rows(), (Order("price"),), limit=None, offset=0, columns=("kind", "km"))
    with pytest.raises(UsageError, match="limit and offset"):
        ordered(Rows(), (), limit=-1, offset=0, columns=NAMES)
    with pytest.raises(UsageError, match="limit and offset"):
        ordered(Rows(), (), limit=None, offset=-1, columns=NAMES)
