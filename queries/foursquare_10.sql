-- A sub-query that keeps rows as rows, a public table, a soft filter on time, and groups that only the public table knows.
WITH evening AS (
    SELECT category, DISTANCE(POINT(lat, lon), POINT(40.7484, -73.9857)) AS km
    FROM foursquare
    WHERE RAMP(DISTANCE("time(ts)", 1), 6, 5)
)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 60)
       kinds.kind,
       AVG(evening.km)         AS km_to_midtown,
       SHARE()                 AS share
FROM evening
JOIN kinds ON evening.category = kinds.category
GROUP BY kinds.kind
ORDER BY share DESC
LIMIT 4;
