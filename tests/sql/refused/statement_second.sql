-- code: drop
-- underlined: DROP TABLE
-- says: DROP TABLE is refused
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits;
DROP TABLE visits
