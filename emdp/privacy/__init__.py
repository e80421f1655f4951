"""Guarantees and their accounting, with no table in sight: the public home of what prices a release."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names

if TYPE_CHECKING:
    from emdp.privacy.account.budget import SLACK_LIMIT, Budget
    from emdp.privacy.account.composition import Total, compose, epsilon_curve, price_batch, tight
    from emdp.privacy.account.filter import UNLIMITED, Account
    from emdp.privacy.account.totals import promised_as_user, total_as_user
    from emdp.privacy.blanket.sets import SetLaw
    from emdp.privacy.calibration import (
        gaussian_alpha,
        gaussian_delta,
        gaussian_mu,
        gaussian_sigma,
        laplace_scale,
    )
    from emdp.privacy.events.table import (
        BatchEvent,
        Event,
        GaussianEvent,
        GuaranteeEvent,
        KNormEvent,
        LaplaceEvent,
        event_from_json,
    )
    from emdp.privacy.guarantees.conversions import (
        conversion_factor,
        convert,
        converts_to,
        group,
        paying,
        to_bounded,
        to_central,
        to_discrete,
        to_user,
    )
    from emdp.privacy.guarantees.kinds import DiscreteEmdDP, EmdDP, Guarantee, UserDP, guarantee_from_json
    from emdp.privacy.guarantees.metrics import MetricTotal, change_metric, compose_metrics
    from emdp.privacy.guarantees.protections import ELSEWHERE, Change, change_distance, epsilon_for, protect
    from emdp.privacy.inference import epsilon_of
    from emdp.privacy.reduction import (
        BoundedReduction,
        Reduction,
        published_reduction_alpha,
        reduced_guarantee,
        reduction_alpha,
        reduction_quantile,
        reduction_split,
    )
    from emdp.privacy.rounding import split
    from emdp.privacy.shuffle.changes import ChangeBound, shuffle_change, shuffle_change_bounds
    from emdp.privacy.shuffle.items import (
        ShuffleBound,
        ShuffleStrength,
        shuffle_alpha,
        shuffle_alpha0,
        shuffle_alpha0_bounds,
        shuffle_bounds,
    )
    from emdp.privacy.shuffle.renyi import (
        renyi_delta,
        renyi_epsilon,
        renyi_shuffle,
        renyi_shuffle_bound,
        renyi_subsampled,
    )
    from emdp.privacy.shuffle.sampled import SampledShuffle
    from emdp.privacy.shuffle.users import (
        ShuffleRound,
        UserShuffleBound,
        shuffle_epsilon,
        shuffle_epsilon0,
        shuffle_total,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.privacy.account.budget": "SLACK_LIMIT Budget",
            "emdp.privacy.blanket.sets": "SetLaw",
            "emdp.privacy.calibration": "gaussian_alpha gaussian_delta gaussian_mu gaussian_sigma laplace_scale",
            "emdp.privacy.account.composition": "Total compose epsilon_curve price_batch tight",
            "emdp.privacy.guarantees.conversions": (
                "conversion_factor convert converts_to group paying to_bounded to_central to_discrete to_user"
            ),
            "emdp.privacy.events.table": (
                "BatchEvent Event GaussianEvent GuaranteeEvent KNormEvent LaplaceEvent event_from_json"
            ),
            "emdp.privacy.account.filter": "UNLIMITED Account",
            "emdp.privacy.guarantees.kinds": "DiscreteEmdDP EmdDP Guarantee UserDP guarantee_from_json",
            "emdp.privacy.guarantees.metrics": "MetricTotal change_metric compose_metrics",
            "emdp.privacy.guarantees.protections": "ELSEWHERE Change change_distance epsilon_for protect",
            "emdp.privacy.inference": "epsilon_of",
            "emdp.privacy.reduction": (
                "BoundedReduction Reduction published_reduction_alpha reduced_guarantee reduction_alpha "
                "reduction_quantile reduction_split"
            ),
            "emdp.privacy.rounding": "split",
            "emdp.privacy.shuffle.changes": "ChangeBound shuffle_change shuffle_change_bounds",
            "emdp.privacy.shuffle.items": (
                "ShuffleBound ShuffleStrength shuffle_alpha shuffle_alpha0 shuffle_alpha0_bounds shuffle_bounds"
            ),
            "emdp.privacy.shuffle.renyi": (
                "renyi_delta renyi_epsilon renyi_shuffle renyi_shuffle_bound renyi_subsampled"
            ),
            "emdp.privacy.shuffle.sampled": "SampledShuffle",
            "emdp.privacy.shuffle.users": (
                "ShuffleRound UserShuffleBound shuffle_epsilon shuffle_epsilon0 shuffle_total"
            ),
            "emdp.privacy.account.totals": "promised_as_user total_as_user",
        },
    )

__all__ = [
    "ELSEWHERE",
    "SLACK_LIMIT",
    "UNLIMITED",
    "Account",
    "BatchEvent",
    "BoundedReduction",
    "Budget",
    "Change",
    "ChangeBound",
    "DiscreteEmdDP",
    "EmdDP",
    "Event",
    "GaussianEvent",
    "Guarantee",
    "GuaranteeEvent",
    "KNormEvent",
    "LaplaceEvent",
    "MetricTotal",
    "Reduction",
    "SampledShuffle",
    "SetLaw",
    "ShuffleBound",
    "ShuffleRound",
    "ShuffleStrength",
    "Total",
    "UserDP",
    "UserShuffleBound",
    "change_distance",
    "change_metric",
    "compose",
    "compose_metrics",
    "conversion_factor",
    "convert",
    "converts_to",
    "epsilon_curve",
    "epsilon_for",
    "epsilon_of",
    "event_from_json",
    "gaussian_alpha",
    "gaussian_delta",
    "gaussian_mu",
    "gaussian_sigma",
    "group",
    "guarantee_from_json",
    "laplace_scale",
    "paying",
    "price_batch",
    "promised_as_user",
    "protect",
    "published_reduction_alpha",
    "reduced_guarantee",
    "reduction_alpha",
    "reduction_quantile",
    "reduction_split",
    "renyi_delta",
    "renyi_epsilon",
    "renyi_shuffle",
    "renyi_shuffle_bound",
    "renyi_subsampled",
    "shuffle_alpha",
    "shuffle_alpha0",
    "shuffle_alpha0_bounds",
    "shuffle_bounds",
    "shuffle_change",
    "shuffle_change_bounds",
    "shuffle_epsilon",
    "shuffle_epsilon0",
    "shuffle_total",
    "split",
    "tight",
    "to_bounded",
    "to_central",
    "to_discrete",
    "to_user",
    "total_as_user",
]
