-- space: shops
-- lipschitz: floor=4
-- range: floor=0..2
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(floor) AS floor FROM visits JOIN sites USING (category)
