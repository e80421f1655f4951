-- code: attach
-- underlined: DETACH
-- says: DETACH is refused
DETACH other
