-- space: trips
-- lipschitz: v=209
-- range: v=2..21
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(fare + 1) AS v FROM visits  -- the range of fare, 19, since its diameter 5 cuts distances
