-- code: character
-- underlined: ​
-- says: U+200B
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(pri​ce) FROM visits
