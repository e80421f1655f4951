-- code: not-given-back
-- underlined: mean:
-- says: with AS
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) mean: AVG(price) FROM visits
