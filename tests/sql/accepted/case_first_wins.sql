-- space: shops
-- lipschitz: v=2
-- range: v=1..2
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE WHEN category IN ('cafe', 'bar') THEN 1 WHEN category = 'bar' THEN 9 ELSE 2 END) AS v FROM visits
