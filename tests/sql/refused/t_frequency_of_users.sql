-- code: frequency-column
-- underlined: plan
-- says: GROUP BY plan instead
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(plan) FROM visits
