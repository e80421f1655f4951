-- code: category-as-number
-- underlined: sector
-- says: CASE sector WHEN
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(sector) FROM visits JOIN kinds USING (category)
