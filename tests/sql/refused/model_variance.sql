-- code: model-aggregate
-- underlined: VARIANCE(price)
-- says: not made of means that a user could send
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-9, model = 'shuffle') AVG(price) AS p, VARIANCE(price) AS v FROM visits
