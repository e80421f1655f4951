-- code: pragma
-- underlined: PRAGMA
-- says: PRAGMA is refused
PRAGMA database_list
