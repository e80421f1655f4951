-- code: model-option
-- underlined: noise = 'laplace'
-- says: leave noise out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, model = 'local', noise = 'laplace') AVG(price) AS p FROM visits
