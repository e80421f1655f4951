-- code: no-from
-- underlined: 1
-- says: table's name
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) 1
