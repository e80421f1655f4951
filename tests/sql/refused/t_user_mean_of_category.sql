-- code: category-as-number
-- underlined: category
-- says: write CASE category
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(category) FROM visits
