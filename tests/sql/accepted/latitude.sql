-- space: plain
-- lipschitz: lat=0.6114275752
-- range: lat=40.48..40.92
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(lat) AS lat FROM visits
