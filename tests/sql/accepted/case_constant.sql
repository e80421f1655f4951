-- space: shops
-- lipschitz: v=0
-- range: v=7..7
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE category WHEN 'cafe' THEN 7 ELSE 7 END) AS v FROM visits
