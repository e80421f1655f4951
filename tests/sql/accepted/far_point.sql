-- space: plain
-- lipschitz: paris=67.987738
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, far_point = TRUE) AVG(DISTANCE(POINT(48.86, 2.35))) AS paris FROM visits
