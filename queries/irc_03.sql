-- The difference of two similarities; the vectors are public, the words are not.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20)
       AVG(SIMILARITY('good') - SIMILARITY('bad')) AS mood
FROM irc;
