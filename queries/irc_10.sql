-- Part of the mean that comes from greetings, beside the mean of all words, from a sub-query that keeps rows as rows.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 60)
       PART(happy) AS from_words_near_hello,
       SHARE()     AS words_near_hello
FROM (SELECT TANH((SIMILARITY('good') - SIMILARITY('bad')) / 10) AS happy FROM irc WHERE RAMP(DISTANCE('hello'), 6, 4)) AS words;
