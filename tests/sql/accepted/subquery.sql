-- space: city
-- lipschitz: avg=200
-- range: avg=1..51
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(half + 1) FROM (SELECT price / 2 AS half, category FROM visits WHERE category <> 'bar') AS q WHERE q.category <> 'park'
