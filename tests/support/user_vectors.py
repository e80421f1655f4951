"""Settings and releases of users' vectors by messages, as the tables of the theory have them, for tests."""

from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.mechanisms.user_vector.local import LocalUserVector
from emdp.mechanisms.user_vector.setting import UserVectorSetting, frames_of

__all__ = ["UNIT", "both_rounds", "fixed", "release", "table"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

UNIT = 40


def table(users: int, d: int, records: int, **more: Any) -> UserVectorSetting:
    """Return the setting of the theory's table: B = 10, sigma = 1, epsilon0 = 2, gamma = 0.01."""
    given: dict[str, Any] = {"epsilon": 2.0, "model": "local", "failure": 0.02} | more
    return UserVectorSetting(users, (-10.0,) * d, (10.0,) * d, spread=(1.0,) * d, records=records, **given)


def both_rounds(setting: UserVectorSetting, *, is_sampled: bool = True, is_one_bit: bool = True) -> LocalUserVector:
    half = setting.epsilon / 2
    frame = frames_of(setting)[-1]
    return LocalUserVector(setting, frame, "two rounds", is_sampled, (half, half), setting.users, is_one_bit)


def fixed(values: Floats) -> Integers:
    return np.rint(values * 2.0**UNIT).astype(np.int64)


def release(mechanism: LocalUserVector, values: Floats) -> Any:
    d = values.shape[1]
    return mechanism.release(iter([fixed(values)]), (UNIT,) * d, (0,) * d)
