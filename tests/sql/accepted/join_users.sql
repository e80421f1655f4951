-- space: line
-- lipschitz: avg=50
-- range: avg=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  district, AVG(price) FROM visits JOIN demographics USING (user_id) WHERE income > 15 GROUP BY district
