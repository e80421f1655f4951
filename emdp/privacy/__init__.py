"""Guarantees and their accounting, with no table in sight: the public home of what prices a release."""

from emdp.privacy.budget import SLACK_LIMIT, Budget
from emdp.privacy.calibration import (
    gaussian_alpha,
    gaussian_delta,
    gaussian_mu,
    gaussian_sigma,
    laplace_scale,
)
from emdp.privacy.composition import Total, compose, epsilon_curve, price_batch, tight
from emdp.privacy.conversions import (
    conversion_factor,
    convert,
    converts_to,
    group,
    to_bounded,
    to_central,
    to_discrete,
    to_user,
)
from emdp.privacy.events import (
    BatchEvent,
    Event,
    GaussianEvent,
    GuaranteeEvent,
    KNormEvent,
    LaplaceEvent,
    event_from_json,
)
from emdp.privacy.filter import UNLIMITED, Account
from emdp.privacy.guarantees import DiscreteEmdDP, EmdDP, Guarantee, UserDP, guarantee_from_json
from emdp.privacy.protections import Change, change_distance, epsilon_for, protect
from emdp.privacy.rounding import split
from emdp.privacy.totals import promised_as_user, total_as_user

__all__ = [
    "SLACK_LIMIT",
    "UNLIMITED",
    "Account",
    "BatchEvent",
    "Budget",
    "Change",
    "DiscreteEmdDP",
    "EmdDP",
    "Event",
    "GaussianEvent",
    "Guarantee",
    "GuaranteeEvent",
    "KNormEvent",
    "LaplaceEvent",
    "Total",
    "UserDP",
    "change_distance",
    "compose",
    "conversion_factor",
    "convert",
    "converts_to",
    "epsilon_curve",
    "epsilon_for",
    "event_from_json",
    "gaussian_alpha",
    "gaussian_delta",
    "gaussian_mu",
    "gaussian_sigma",
    "group",
    "guarantee_from_json",
    "laplace_scale",
    "price_batch",
    "promised_as_user",
    "protect",
    "split",
    "tight",
    "to_bounded",
    "to_central",
    "to_discrete",
    "to_user",
    "total_as_user",
]
