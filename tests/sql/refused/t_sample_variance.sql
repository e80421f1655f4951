-- code: sample-variance
-- underlined: VAR_SAMP(price)
-- says: VARIANCE(price)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) VAR_SAMP(price) FROM visits
