-- Where are they? A smoothed histogram on a grid of 4 km; the ten fullest cells.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 40) FREQUENCY(GRID(POINT(lat, lon), 4.0)) AS frequency
FROM foursquare
ORDER BY frequency DESC
LIMIT 10;
