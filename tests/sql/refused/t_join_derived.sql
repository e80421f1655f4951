-- code: join-table
-- underlined: cafes
-- says: public table
WITH cafes AS (SELECT category FROM visits) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits JOIN cafes USING (category)
