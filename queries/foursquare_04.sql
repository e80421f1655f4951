-- Bars alone: the mean among the chosen check-ins is a ratio of two noisy numbers, with an interval of exact coverage.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 40)
       AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km_to_midtown,
       SHARE()                                 AS share_of_bars
FROM foursquare
WHERE category = 'Bar';
