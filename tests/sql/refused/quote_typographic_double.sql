-- code: quote
-- underlined: “
-- says: no quote of SQL
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(“price”) FROM visits
