-- space: line
-- lipschitz: a=50
-- range: a=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-9, model = 'shuffle', messages = 2)
  AVG(price) AS a, SHARE() AS s FROM visits WHERE RAMP(price, 20, 1)
