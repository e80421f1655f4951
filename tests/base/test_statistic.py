"""What holds a private value shows no digit of it, in whatever form it is held."""

import pickle
from fractions import Fraction

import pytest

from emdp.base.statistic import Hidden, HiddenBlocks, Statistic

HELD = [Statistic([Fraction(123, 1000)]), Hidden(0.123), Hidden([Fraction(1, 3)]), HiddenBlocks(lambda: iter([1, 2]))]


@pytest.mark.parametrize("held", HELD, ids=lambda held: type(held).__name__)
def test_no_text_of_it_has_a_digit_and_it_is_not_pickled(held: object) -> None:
    for shown in (str(held), repr(held), f"{held}", f"{held!r}", repr([held]), repr({"value": held})):
        assert "hidden" in shown
        assert not any(character.isdigit() for character in shown)
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(held)
