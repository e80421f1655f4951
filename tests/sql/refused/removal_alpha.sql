-- code: unknown-option
-- underlined: neighbours
-- says: it belongs to USER_PRIVACY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, neighbours = 'remove') AVG(price) FROM visits
