-- What do people do? One frequency a listed category.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20) FREQUENCY(category) AS frequency
FROM foursquare
ORDER BY frequency DESC;
