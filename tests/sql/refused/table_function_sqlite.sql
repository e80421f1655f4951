-- code: table-function
-- underlined: sqlite_scan('city.ledger', 'events')
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM sqlite_scan('city.ledger', 'events')
