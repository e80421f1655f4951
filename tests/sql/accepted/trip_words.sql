-- space: trips
-- lipschitz: s=125.4192968, t=39.66106403
-- range: s=1..10
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(SIMILARITY(tag, 'dog')) AS s, AVG(DISTANCE(word, 'red')) AS t FROM visits
