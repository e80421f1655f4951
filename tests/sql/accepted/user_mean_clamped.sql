-- space: line
-- lipschitz: half=25
-- range: half=10..20
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 5, method = 'range')
  USER_MEAN(CLAMP(price, 20, 40) / 2) AS half FROM visits LIMIT 1
