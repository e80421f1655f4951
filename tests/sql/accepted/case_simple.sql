-- space: shops
-- lipschitz: v=20
-- range: v=0..10
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE category WHEN 'cafe' THEN 1 WHEN 'bar' THEN 10 ELSE 0 END) AS v FROM visits
