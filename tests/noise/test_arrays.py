"""The check of integer arrays: what it returns, what it refuses, and that no element reaches the message."""

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.noise.arrays import check_integer_array


@pytest.mark.parametrize(
    "values", [[1, 2], np.array([1, 2], dtype=np.uint8), (1, 2), np.array([1, 2], dtype=np.uint64)]
)
def test_integers_become_int64(values: object) -> None:
    array = check_integer_array("counts", values, low=0, high=9)
    assert array.dtype == np.int64
    assert array.tolist() == [1, 2]


def test_an_empty_list_is_an_empty_array() -> None:
    assert check_integer_array("counts", [], low=0, high=9).dtype == np.int64


@pytest.mark.parametrize("values", [[1.0], [True], ["1"], [None], np.zeros(0), [2**70]])
def test_what_is_no_integer_is_refused(values: object) -> None:
    with pytest.raises(UsageError, match="counts must hold integers, not"):
        check_integer_array("counts", values, low=0, high=9)


@pytest.mark.parametrize("values", [[-1], [10], np.array([2**64 - 1], dtype=np.uint64)])
def test_elements_out_of_range_are_refused_and_not_shown(values: object) -> None:
    with pytest.raises(UsageError, match=r"^counts must hold integers from 0 to 9; an element lies outside\.$"):
        check_integer_array("counts", values, low=0, high=9)


@pytest.mark.parametrize("values", [3, [[1]]])
def test_other_axes_are_refused(values: object) -> None:
    with pytest.raises(UsageError, match="counts must have 1 axes"):
        check_integer_array("counts", values, low=0, high=9)
