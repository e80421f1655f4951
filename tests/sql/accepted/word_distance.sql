-- space: words
-- lipschitz: d=3.605551275, e=3.605551275
-- range: d=0..3.16227766, e=0..3.16227766
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE('linux')) AS d, AVG(DISTANCE(word, 'linux', 'cat')) AS e FROM visits
