-- space: shops
-- lipschitz: v=8
-- range: v=1..5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE WHEN NOT category = 'cafe' AND category <> 'bar' THEN 5 WHEN category = 'bar' THEN 1 ELSE 2 END) AS v FROM visits
