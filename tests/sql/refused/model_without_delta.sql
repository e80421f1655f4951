-- code: model-option
-- underlined: model = 'shuffle'
-- says: add delta = 1e-9
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, model = 'shuffle') AVG(price) AS p FROM visits
