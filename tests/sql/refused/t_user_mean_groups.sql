-- code: user-mean-groups
-- underlined: category
-- says: ask for AVG(price), which has groups
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) category, USER_MEAN(price) FROM visits GROUP BY category
