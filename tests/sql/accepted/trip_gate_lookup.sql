-- space: trips
-- lipschitz: w=33
-- range: w=1.5..4
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(width) AS w FROM visits JOIN lines ON gate = lines.gate WHERE side = 'west'
