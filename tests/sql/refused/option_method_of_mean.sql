-- code: option-family
-- underlined: method = 'auto'
-- says: FREQUENCY and USER_MEAN alone
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = 'auto') AVG(price) FROM visits
