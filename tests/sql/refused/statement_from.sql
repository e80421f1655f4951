-- code: from-first
-- underlined: FROM
-- says: FROM is refused
FROM visits SELECT AVG(price)
