"""The page of a first look: one HTML file that needs no network, no script and nothing beside it."""

from emdp.reports.page import environment
from emdp.sessions.profile import Profile

__all__ = ["profile_page"]


def profile_page(profile: Profile) -> str:
    """Return a first look as HTML.

    Parameters
    ----------
    profile : Profile
        What :meth:`emdp.Session.profile` returned.

    Returns
    -------
    str
        Names and values are escaped; markup comes from the template alone.
    """
    return environment().get_template("profile.html").render(profile=profile, statements=profile.plan.parts)
