-- code: group-component
-- underlined: year(ts)
-- says: which groups there are; have the owner declare a part Categories("year(ts)", [..])
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY year(ts)
