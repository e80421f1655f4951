-- code: use
-- underlined: USE
-- says: USE is refused
USE other
