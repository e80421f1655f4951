-- code: unknown-column
-- underlined: prise
-- says: write price
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits;
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(prise) FROM visits
