-- code: prepare
-- underlined: EXECUTE
-- says: EXECUTE is refused
EXECUTE q(1)
