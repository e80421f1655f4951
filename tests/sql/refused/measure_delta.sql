-- code: measure-option
-- underlined: delta = 1e-9
-- says: leave delta out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-9) MEASURE(*) FROM visits
