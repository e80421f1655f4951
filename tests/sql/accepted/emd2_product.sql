-- space: shops
-- lipschitz: near=135.9754766
-- range: near=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1)) AS near
FROM visits
