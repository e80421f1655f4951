-- code: table-function
-- underlined: sniff_csv('a.csv') AS s
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits JOIN sniff_csv('a.csv') AS s USING (category)
