-- code: distribution-groups
-- underlined: category
-- says: SHARE() with GROUP BY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(GRID(price, 5)) FROM visits GROUP BY category
