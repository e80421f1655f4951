-- code: unknown-option
-- underlined: spread
-- says: it belongs to USER_PRIVACY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, spread = 2.0) USER_MEAN(price) FROM visits
