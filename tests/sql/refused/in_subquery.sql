-- code: in-subquery
-- underlined: (SELECT category FROM stations)
-- says: public table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category IN (SELECT category FROM stations)
