-- code: column-outside-space
-- underlined: note
-- says: public list
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY note
