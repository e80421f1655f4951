-- space: trips
-- lipschitz: v=209
-- range: v=1..20
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(fare) AS v FROM visits WHERE is_paid AND word_class <> 'verb'
