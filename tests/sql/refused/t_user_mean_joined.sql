-- code: user-mean-where
-- underlined: JOIN sites USING (category)
-- says: has no conditions
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price) FROM visits JOIN sites USING (category)
