-- code: export
-- underlined: EXPORT DATABASE
-- says: EXPORT DATABASE is refused
EXPORT DATABASE 'dir'
