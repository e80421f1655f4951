-- code: unpivot
-- underlined: UNPIVOT (v FOR n IN (price, hour))
-- says: several records
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(v) FROM visits UNPIVOT (v FOR n IN (price, hour))
