-- code: argument-count
-- underlined: SHARE(price)
-- says: SHARE()
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARE(price) FROM visits WHERE category = 'cafe'
