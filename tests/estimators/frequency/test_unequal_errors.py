"""Independent errors of different variances, against their covariance matrix."""

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.estimators.frequency.models import IndependentErrors
from emdp.estimators.frequency.unequal_errors import UnequalErrors


def test_sums_have_the_variances_of_the_matrix() -> None:
    variances = np.array([0.5, 0.0, 2.0, 1.0, 4.0])
    model = UnequalErrors(variances)
    spread = np.eye(5) - 1 / 5
    covariance = spread @ np.diag(variances) @ spread.T
    groups = np.array([0, 1, 0, 2, 1])
    members = (groups[None, :] == np.arange(3)[:, None]).astype(float)
    assert model.group_variances(groups) == pytest.approx(np.diag(members @ covariance @ members.T))
    order = np.array([3, 1, 4, 0, 2])
    firsts = np.array([np.isin(np.arange(5), order[:count]) for count in range(1, 5)], dtype=float)
    assert model.prefix_variances(order) == pytest.approx(np.diag(firsts @ covariance @ firsts.T))
    assert model.combine(np.eye(5)).tolist() == np.diag(np.sqrt(variances)).tolist()
    assert model.variances.tolist() == variances.tolist()


def test_equal_variances_are_the_other_model() -> None:
    one, other = UnequalErrors(np.full(6, 0.3)), IndependentErrors(6, 0.3)
    groups = np.array([0, 1, 0, 1, 1, 1])
    assert one.group_variances(groups) == pytest.approx(other.group_variances(groups))
    assert one.prefix_variances(np.arange(6)) == pytest.approx(other.prefix_variances(np.arange(6)))


@pytest.mark.parametrize("wrong", [[-1.0, 2.0], [np.nan], [], [[1.0]]])
def test_what_is_no_variance_is_refused(wrong: list[float]) -> None:
    with pytest.raises(UsageError, match="variances must be finite"):
        UnequalErrors(np.array(wrong))
