-- The share of some listed words. A word is hidden as well as its nearest neighbour is far, so this costs more than a slope.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 40)
       AVG(CASE WHEN text IN ('thanks', 'thank', 'please') THEN 1 ELSE 0 END) AS polite
FROM irc;
