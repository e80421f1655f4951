-- space: text
-- lipschitz: s=3.605551275
-- range: s=0..2
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(SIMILARITY('linux')) AS s FROM visits
