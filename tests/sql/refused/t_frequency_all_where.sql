-- code: frequency-where
-- underlined: category = 'bar'
-- says: counts all records
-- about: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(*) FROM visits WHERE category = 'bar'
