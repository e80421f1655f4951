"""Integers from opendp's exact samplers, and the range of scales that every sampler here accepts.

opendp 0.16 draws the discrete Laplace and the discrete Gaussian law of Canonne, Kamath and Steinke 2020
(CKS20, arXiv 2004.00010, algorithms 1 to 3) in rational arithmetic: a float scale is converted exactly, no
float is used afterwards, and the result is cut to the ends of a signed 64-bit integer. Its bytes come from
OpenSSL's private generator, a stream keyed from the operating system (opendp 0.15 and later; in 0.14.1 and
earlier a fault of its rational division biased both samplers, opendp issue 2638, hence the version in
pyproject.toml).
"""

from functools import lru_cache
from typing import Any, Literal

from emdp.base.checks import check_count, check_positive
from emdp.base.errors import UsageError
from emdp.base.versions import check_version

__all__ = ["I64_MAX", "I64_MIN", "MAX_SCALE", "MIN_SCALE", "Law", "check_noise_scale", "draw_integers"]

I64_MAX = 2**63 - 1
I64_MIN = -(2**63)
# Where opendp cuts a draw; a returned value at either end stands for everything beyond it too.

MIN_SCALE, MAX_SCALE = 2.0**-20, 2.0**56
# Scales that the samplers accept, in grid steps. At 2^56 opendp cuts a Laplace draw with chance exp(-128).

Law = Literal["laplace", "gaussian"]


def check_noise_scale(scale: object) -> float:
    """Return ``scale``, in grid steps, as a float, or raise ``UsageError`` if no sampler here accepts it.

    Whatever draws asks here before it is charged, and so learns here too whether opendp is of a known version.

    >>> check_noise_scale(2**40)
    1099511627776.0
    """
    check_version("opendp")
    number = check_positive("scale", scale)
    if not MIN_SCALE <= number <= MAX_SCALE:
        raise UsageError(f"scale must be between 2^-20 and 2^56 grid steps, got {number}; choose another grid.")
    return number


def draw_integers(law: Law, scale: float, size: int) -> list[int]:
    """Draw independent integers with opendp's sampler of ``law``, cut to ``[I64_MIN, I64_MAX]``.

    Parameters
    ----------
    law : {"laplace", "gaussian"}
        ``P(k)`` proportional to ``exp(-|k|/scale)`` or to ``exp(-k^2/(2 scale^2))``.
    scale : float
        Scale in grid steps, taken as the exact rational that the float is.
    size : int
        How many, at least 0.

    >>> len(draw_integers("laplace", 2.5, 3))
    3
    """
    scale = check_noise_scale(scale)
    size = check_count("size", size, minimum=0)
    if size == 0:
        return []
    return [int(draw) for draw in _measurement(law, scale)([0] * size)]


@lru_cache(maxsize=64)
def _measurement(law: Law, scale: float) -> Any:
    # opendp takes 0.15 s to import, and its prelude 0.3 s more than these four modules.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    integers = vector_domain(atom_domain(T="i64"))
    if law == "laplace":
        return make_laplace(integers, l1_distance(T="i64"), scale=scale)
    return make_gaussian(integers, l2_distance(T="f64"), scale=scale)
