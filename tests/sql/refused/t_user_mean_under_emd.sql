-- code: user-mean-under-emd
-- underlined: USER_MEAN(price)
-- says: write AVG(price), which needs no range
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) USER_MEAN(price) FROM visits
