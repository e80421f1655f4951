-- code: model-groups
-- underlined: category
-- says: every user sends the same messages
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-9, model = 'shuffle') category, AVG(price) AS p FROM visits GROUP BY category
