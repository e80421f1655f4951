-- code: self-join
-- underlined: visits AS w
-- says: pairs records
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(v.price) FROM visits v JOIN visits AS w USING (category)
