-- code: user-mean-groups
-- underlined: GROUP BY plan
-- says: ask for AVG(price), which has groups
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) plan, USER_MEAN(price) FROM visits GROUP BY plan
