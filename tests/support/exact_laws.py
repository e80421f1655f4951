"""Exact laws and losses by enumeration, for tests of noise and of mechanisms."""

import itertools

import numpy as np
import numpy.typing as npt

__all__ = ["flip_law", "loss_beyond"]


def flip_law(costs: list[int], rate: float) -> npt.NDArray[np.float64]:
    """Return the law of permute-and-flip, by enumeration of all orders."""
    chance = np.exp(-rate * (np.array(costs) - min(costs)))
    law = np.zeros(len(costs))
    orders = list(itertools.permutations(range(len(costs))))
    for order in orders:
        rest = 1.0
        for place in order:
            law[place] += rest * chance[place] / len(orders)
            rest *= 1.0 - chance[place]
    return law


def loss_beyond(left: list[np.ndarray], right: list[np.ndarray], epsilon: float) -> float:
    """Return ``sum (P - e^epsilon Q)_+`` of two products of laws, through the distribution of the ratio."""
    losses, chances = np.zeros(1), np.ones(1)
    for p, q in zip(left, right, strict=True):
        kept = p > 0
        with np.errstate(divide="ignore"):
            ratio = np.log(p[kept]) - np.log(q[kept])
        own = np.unique(np.round(ratio, 9), return_inverse=True)
        merged = np.bincount(own[1], weights=p[kept])
        losses = (losses[:, None] + own[0][None, :]).ravel()
        chances = (chances[:, None] * merged[None, :]).ravel()
    return float((chances * np.maximum(0.0, -np.expm1(epsilon - losses))).sum())
