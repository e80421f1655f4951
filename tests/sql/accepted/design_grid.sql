-- space: plain
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0) FREQUENCY(GRID(1.0)) FROM visits;
