-- space: shops
-- lipschitz: v=95
-- range: v=0..47.5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(rent + floor) AS v FROM visits JOIN kinds USING (category) JOIN sites ON visits.category = sites.category JOIN demographics d USING (user_id) WHERE d.district <> 'a'
