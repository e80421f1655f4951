-- space: plain
-- lipschitz: quantile=67.98773829
-- range: quantile=0..35.21561197
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0) QUANTILE(DISTANCE(POINT(40.7, -74.0)), 0.5, 0.9) FROM visits;
