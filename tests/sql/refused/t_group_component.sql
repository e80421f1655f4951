-- code: group-component
-- underlined: minute(ts)
-- says: write FREQUENCY(GRID("hour(ts)", 1.0)) for a histogram, or have the owner declare a part Categories("minute(ts)", [..])
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY minute(ts)
