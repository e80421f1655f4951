-- code: choice-function
-- underlined: IF(price > 3, 1, 0)
-- says: CASE WHEN .. THEN .. ELSE .. END over a categorical
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(IF(price > 3, 1, 0)) FROM visits
