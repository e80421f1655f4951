-- code: vacuum
-- underlined: VACUUM
-- says: VACUUM is refused
VACUUM
