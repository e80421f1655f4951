-- code: unknown-column
-- underlined: latitude_of_home
-- says: columns to use are lat, lon, category, price
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(latitude_of_home + 1) FROM visits
