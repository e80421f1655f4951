-- space: shops
-- lipschitz: v=135.9754766
-- range: v=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE WHEN category = 'cafe' THEN RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1) ELSE 0 END) AS v FROM visits
