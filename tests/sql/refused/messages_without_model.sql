-- code: option-unused
-- underlined: messages = 4
-- says: add model = 'shuffle'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, messages = 4) AVG(price) AS p FROM visits
