-- space: city
-- lipschitz: avg=400, part=400
-- range: avg=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price), PART(price), SHARE()
FROM visits
WHERE plan IN ('pro', 'free') AND (category <> 'cafe' OR NOT RAMP(price, 10, 20)) AND age >= 20
