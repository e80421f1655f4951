-- space: city
-- lipschitz: price=400
-- range: price=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  category, AVG(price) AS price
FROM visits
GROUP BY category
ORDER BY price DESC NULLS FIRST
LIMIT 3 OFFSET 1
