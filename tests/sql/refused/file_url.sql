-- code: file
-- underlined: 'https://example.org/visits.csv'
-- says: declare the file
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM 'https://example.org/visits.csv'
