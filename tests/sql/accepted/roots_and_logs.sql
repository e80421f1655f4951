-- space: line
-- lipschitz: r=25, l=50
-- range: r=1..7.141428429, l=0..3.931825633
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(SQRT(1 + price)) AS r, AVG(LN(1 + price)) AS l FROM visits
