-- code: model-option
-- underlined: model = 'shuffle'
-- says: add delta = 1e-9
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, model = 'shuffle') SHARES(category = 'park') FROM visits
