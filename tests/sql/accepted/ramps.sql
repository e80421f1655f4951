-- space: line
-- lipschitz: up=10, down=20
-- range: up=0..1, down=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(RAMP(price, 10, 15)) AS up, AVG(RAMP(price, 12.5, 10)) AS down FROM visits
