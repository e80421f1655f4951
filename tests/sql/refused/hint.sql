-- code: hint
-- underlined: /*+ no_cache */
-- says: leave the hint out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) /*+ no_cache */ AVG(price) FROM visits
