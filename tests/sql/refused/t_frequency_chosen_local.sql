-- code: frequency-option
-- underlined: model = 'local'
-- says: chosen or grouped users
-- about: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, model = 'local') FREQUENCY(category) FROM visits WHERE plan = 'pro'
