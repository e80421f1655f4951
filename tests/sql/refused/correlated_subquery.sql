-- code: scalar-subquery
-- underlined: (SELECT AVG(w.price) FROM visits AS w WHERE w.user_id = v.user_id)
-- says: mixes the records
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits AS v WHERE price > (SELECT AVG(w.price) FROM visits AS w WHERE w.user_id = v.user_id)
