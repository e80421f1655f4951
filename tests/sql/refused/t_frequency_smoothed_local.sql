-- code: frequency-option
-- underlined: model = 'local'
-- says: central model alone
-- about: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = 'smoothed', model = 'local') FREQUENCY(category) FROM visits
