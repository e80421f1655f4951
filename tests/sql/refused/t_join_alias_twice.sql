-- code: duplicate-alias
-- underlined: sites AS k
-- says: give it an alias
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(rent) FROM visits JOIN kinds AS k USING (category) JOIN sites AS k USING (category)
