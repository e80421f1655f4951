-- code: unknown-table
-- underlined: kind
-- says: write kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(rent) FROM visits JOIN kind USING (category)
