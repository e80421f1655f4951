-- space: city
-- lipschitz: avg=800
-- range: avg=0..200
WITH cafes AS (SELECT user_id, price AS p, ts FROM visits v WHERE v.category = 'cafe'),
     doubled AS (SELECT 2 * p AS p2, user_id, EXTRACT(HOUR FROM ts) AS h FROM cafes)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(p2) FROM doubled WHERE RAMP(DISTANCE(h, 8), 2, 1)
