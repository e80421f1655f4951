-- code: measure-argument
-- underlined: MEASURE(PITCH(0))
-- says: neither * nor columns of the space and a pitch above 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MEASURE(PITCH(0)) FROM visits
