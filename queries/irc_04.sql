-- Distance in the space of vectors, to the nearest of three words, and no farther than 8.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20)
       AVG(LEAST(DISTANCE('linux', 'windows', 'computer'), 8)) AS distance_to_computers
FROM irc;
