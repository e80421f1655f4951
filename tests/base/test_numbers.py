"""Numbers that guarantees rest on are numbers: no truth value, no text, nothing that is not finite."""

import math

import numpy as np
import pytest

import emdp
from emdp.base.checks import check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.errors import UsageError

NO_NUMBERS = [True, False, np.True_, "1", None, math.nan, math.inf, -math.inf, 10**400, np.float64("nan"), 1j]
CHECKS = {
    "finite": lambda value: check_finite("x", value),
    "positive": lambda value: check_positive("x", value),
    "range": lambda value: check_range("x", value, -2.0, 2.0),
    "unit interval": lambda value: check_unit_interval("x", value, zero=True, one=True),
    "alpha": emdp.EmdDP,
    "epsilon": emdp.UserDP,
    "delta": lambda value: emdp.EmdDP(1.0, value),
    "bounds": lambda value: emdp.Interval("x", 0, value),
}


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("name", CHECKS)
def test_what_is_no_number_is_refused_everywhere(name: str, value: object) -> None:
    with pytest.raises(UsageError):
        CHECKS[name](value)


@pytest.mark.parametrize("value", [True, np.True_, "3", math.nan, math.inf, 1.5])
def test_what_is_no_count_is_refused(value: object) -> None:
    with pytest.raises(UsageError):
        check_count("x", value)
