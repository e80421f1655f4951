"""Choice of the best way to release a mean over users, by public numbers alone."""

from functools import lru_cache

from emdp.mechanisms.user_mean.base import UserMeanMechanism, UserMeanRelease, UserMeanSetting
from emdp.mechanisms.user_mean.central import central_candidates
from emdp.mechanisms.user_mean.choice import best_of
from emdp.mechanisms.user_mean.local import local_candidates
from emdp.mechanisms.user_mean.shuffle import shuffle_candidates
from emdp.mechanisms.user_mean.somewhere import central_somewhere
from emdp.mechanisms.user_mean.somewhere_messages import dealt_somewhere

__all__ = ["UserMeanMechanism", "UserMeanRelease", "UserMeanSetting", "best_user_mean", "user_mean_candidates"]


@lru_cache(maxsize=64)
def user_mean_candidates(setting: UserMeanSetting) -> tuple[UserMeanMechanism, ...]:
    """Return every way that a setting allows, the one without a range first.

    Two rounds are among them where a spread is given and there are at least three bins, whether or not they reach the
    target failure: ``missed_range`` says. In the shuffle model this takes a second or some; it is remembered.

    >>> setting = UserMeanSetting(500, -50, 50, 1.0, model="local", spread=1.0, records=100, failure=0.1)
    >>> [(way.name, round(way.deviation, 3), way.users_needed) for way in user_mean_candidates(setting)][:2]
    [('one round', 4.631, 1), ('range, then mean, every user in both rounds', 0.244, 1529)]
    """
    if setting.elsewhere:
        return central_somewhere(setting) if setting.model == "central" else dealt_somewhere(setting)
    if setting.model == "central":
        return central_candidates(setting)
    if setting.model == "local":
        return local_candidates(setting, setting.epsilon)
    return shuffle_candidates(setting)


def best_user_mean(setting: UserMeanSetting) -> UserMeanMechanism:
    """Return the way of about the least expected error among those that reach the target failure; see :func:`best_of`.

    One round is always among them.

    >>> best_user_mean(UserMeanSetting(20_000, -10, 10, 1.0, model="local", spread=1.0)).name
    'one round'
    >>> best_user_mean(UserMeanSetting(20_000, -10, 10, 1.0, model="local", spread=1.0, records=100)).name
    'range, then mean, every user in one round'
    """
    return best_of(user_mean_candidates(setting))
