-- space: city
-- lipschitz: q50=400
-- range: q50=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  plan, QUANTILE(price, 0.25, 0.5, 0.75) AS q50 FROM visits WHERE category IN ('cafe', 'bar') GROUP BY plan ORDER BY q DESC
