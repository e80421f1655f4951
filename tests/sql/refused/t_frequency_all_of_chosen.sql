-- code: frequency-users
-- underlined: FREQUENCY(*)
-- says: write FREQUENCY(category)
-- about: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(*) FROM visits WHERE plan = 'pro'
