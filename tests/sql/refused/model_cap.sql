-- code: model-option
-- underlined: max_records_per_user = 5
-- says: every user weighs the same
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, model = 'shuffle', max_records_per_user = 5) AVG(price) AS p FROM visits
