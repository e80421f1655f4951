-- code: install
-- underlined: INSTALL
-- says: INSTALL is refused
INSTALL httpfs
