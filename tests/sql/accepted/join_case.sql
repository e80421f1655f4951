-- space: shops
-- lipschitz: v=2
-- range: v=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE k.sector WHEN 'food' THEN 1 ELSE 0 END) AS v FROM visits JOIN kinds k USING (category)
