-- code: shares-where
-- underlined: category = 'cafe'
-- says: write the condition into each fact
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) SHARES(category = 'park') FROM visits WHERE category = 'cafe'
