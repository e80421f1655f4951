-- code: import
-- underlined: IMPORT DATABASE
-- says: IMPORT DATABASE is refused
IMPORT DATABASE 'dir'
