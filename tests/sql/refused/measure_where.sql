-- code: measure-where
-- underlined: category = 'cafe'
-- says: choose rows of the answer's table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MEASURE(*) FROM visits WHERE category = 'cafe'
