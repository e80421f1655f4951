-- code: option-unused
-- underlined: expected_share = 0.5
-- says: leave it out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, expected_share = 0.5) FREQUENCY(category) FROM visits
