-- space: line
-- lipschitz: avg=50
-- range: avg=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price) FROM visits;
-- a second statement of the same text
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price) FROM visits WHERE plan = 'pro';
