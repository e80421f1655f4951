-- space: trips
-- lipschitz: v=44, w=11
-- range: v=0..1, w=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CASE word_class WHEN 'noun' THEN 1 ELSE 0 END) AS v, AVG(DISTANCE(word_class, 'noun')) AS w FROM visits
