-- space: city
-- lipschitz: km=271.9509531
-- range: km=0..38.37022913
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(POINT(lat, lon), POINT(40.7484, -73.9857))) AS km FROM visits
