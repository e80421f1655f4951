"""A first look at a table: for every column what an analyst asks first, as one batch at one price."""

from emdp.sessions.profile.found import Profile
from emdp.sessions.profile.plan import ProfilePlan, ProfilePreview

__all__ = ["Profile", "ProfilePlan", "ProfilePreview"]
