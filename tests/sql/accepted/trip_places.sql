-- space: trips
-- lipschitz: s=747.8651212, t=747.8651212
-- range: s=0..35.21561197, t=0..38.37022913
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(POINT(start_lat, start_lon), POINT(40.7, -74.0))) AS s, AVG(DISTANCE(POINT(end_lat, end_lon), POINT(40.7484, -73.9857))) AS t FROM visits
