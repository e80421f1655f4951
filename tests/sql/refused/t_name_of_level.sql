-- code: duplicate-name
-- underlined: QUANTILE(price, 0.5) AS q
-- says: QUANTILE gives the level of each row as q
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) QUANTILE(price, 0.5) AS q FROM visits
