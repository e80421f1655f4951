-- code: user-mean-under-emd
-- underlined: USER_MEAN(price, lat / 2)
-- says: write AVG(price), AVG(lat / 2)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) USER_MEAN(price, lat / 2) AS m FROM visits
