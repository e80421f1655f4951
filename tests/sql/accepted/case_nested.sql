-- space: city
-- lipschitz: v=400
-- range: v=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE category WHEN 'cafe' THEN CASE WHEN category = 'cafe' THEN price ELSE -1000 END ELSE 0 END) AS v FROM visits
