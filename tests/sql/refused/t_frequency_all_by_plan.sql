-- code: frequency-users
-- underlined: FREQUENCY(*)
-- says: leave WHERE and GROUP BY out
-- about: cells
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) plan, FREQUENCY(*) FROM visits GROUP BY plan
