-- code: point-kind
-- underlined: 'cafe'
-- says: POINT(40.7, -73.98)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(lat, lon), 'cafe')) FROM visits
