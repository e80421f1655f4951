"""Sums of users' messages are exact: whole numbers near the ends of 64 bits, which floats would round."""

import numpy as np

from emdp.mechanisms.local.noise import exact_sums


def test_sums_of_large_messages_are_those_of_whole_numbers() -> None:
    messages = np.array([[2**62 - 1, -(2**62)], [2**62 - 3, -(2**62) + 1], [1, -1], [-5, 3]], dtype=np.int64)
    exact = [sum(int(value) for value in messages[:, place]) for place in range(2)]
    assert exact_sums(messages) == exact == [2**63 - 8, -(2**63) + 3]
    assert [int(total) for total in messages.astype(np.float64).sum(axis=0)] != exact, "floats would show"


def test_one_unit_beside_many_large_messages_is_kept() -> None:
    messages = np.full((1001, 1), 2**53, dtype=np.int64)
    messages[500] = 1
    assert exact_sums(messages) == [1000 * 2**53 + 1]
