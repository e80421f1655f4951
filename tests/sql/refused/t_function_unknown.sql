-- code: unknown-function
-- underlined: my_macro(price)
-- says: the functions are ABS, LEAST
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(my_macro(price)) FROM visits
