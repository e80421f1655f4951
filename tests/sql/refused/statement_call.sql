-- code: call
-- underlined: CALL
-- says: CALL is refused
CALL pragma_version()
