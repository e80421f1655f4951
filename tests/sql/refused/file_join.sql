-- code: file
-- underlined: 'stations.csv'
-- says: declare the file
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits JOIN 'stations.csv' USING (station)
