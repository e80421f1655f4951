-- code: frequency-column
-- underlined: sector
-- says: GROUP BY sector
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(sector) FROM visits JOIN kinds USING (category)
