-- space: shops
-- lipschitz: v=6
-- range: v=0..3
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE WHEN category IN ('cafe', 'bar') THEN 1 WHEN category = 'park' THEN 3 ELSE 0 END) AS v FROM visits
