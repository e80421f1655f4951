-- code: equal-facts
-- underlined: category = 'park'
-- says: asked for twice
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) SHARES(category = 'park', category = 'park') FROM visits
