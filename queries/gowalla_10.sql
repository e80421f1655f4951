-- Several statements are one batch: checked, priced and charged together.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       AVG(TANH(DISTANCE(POINT(40.7484, -73.9857)) / 10))               AS far,
       STDDEV(LEAST(DISTANCE(POINT(40.7484, -73.9857)), 20))            AS spread
FROM gowalla;
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 10)
       EXTRACT(DOW FROM ts) AS day,
       AVG(LEAST(DISTANCE(POINT(40.7484, -73.9857)), 20)) AS km
FROM gowalla
GROUP BY "dow(ts)"
ORDER BY day DESC
LIMIT 3;
