-- code: parameter
-- underlined: @
-- says: write the value
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = @name
