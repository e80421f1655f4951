-- code: join-missing
-- underlined: sites.category = v.category
-- says: museum, park
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(floor) FROM visits v LEFT JOIN sites ON sites.category = v.category
