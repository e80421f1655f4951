-- code: unknown-column
-- underlined: "bar"
-- says: the columns to use are
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARE() FROM visits GROUP BY "bar"
