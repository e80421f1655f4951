-- code: list
-- underlined: tags
-- says: behind IN
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category IN tags
