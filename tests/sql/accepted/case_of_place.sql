-- space: shops
-- lipschitz: v=135.9754766
-- range: v=0..38.37022913
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE category WHEN 'cafe' THEN DISTANCE(POINT(40.7484, -73.9857)) WHEN 'bar' THEN 1 ELSE 0 END) AS v FROM visits
