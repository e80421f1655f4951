-- code: user-mean-where
-- underlined: category = 'cafe'
-- says: has no conditions; leave it out, or ask for AVG(price)
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 2) USER_MEAN(price) FROM visits WHERE category = 'cafe'
