-- code: star
-- underlined: FREQUENCY(*, *)
-- says: FREQUENCY takes an expression
-- about: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(*, *) FROM visits
