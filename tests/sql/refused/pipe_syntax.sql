-- code: not-given-back
-- underlined: |>
-- says: order of SQL
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits |> WHERE category = 'park'
