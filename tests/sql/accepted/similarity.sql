-- space: words
-- lipschitz: s=3.605551275, t=10.81665383
-- range: s=0..2, t=0..9
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(SIMILARITY('linux')) AS s, AVG(SIMILARITY(word, 'cat')) AS t FROM visits
