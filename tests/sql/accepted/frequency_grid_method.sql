-- space: city
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = 'smoothed') FREQUENCY(GRID(POINT(lat, lon), 1.0)) FROM visits
