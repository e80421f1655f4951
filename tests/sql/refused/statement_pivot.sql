-- code: pivot
-- underlined: PIVOT
-- says: PIVOT is refused
PIVOT visits ON category USING AVG(price)
