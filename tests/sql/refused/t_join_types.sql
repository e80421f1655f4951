-- code: join-types
-- underlined: numbers.category = v.category
-- says: does not hold texts
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(x) FROM visits v JOIN numbers ON numbers.category = v.category
