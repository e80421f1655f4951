-- space: city
-- lipschitz: avg=400
-- range: avg=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price) FROM visits WHERE RAMP(DISTANCE(POINT(lat, lon), POINT(40.7484, -73.9857)), 2, 1)
