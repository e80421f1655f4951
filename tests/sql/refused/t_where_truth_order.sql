-- code: truth-order
-- underlined: TRUE
-- says: = TRUE or is_staff = FALSE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE is_staff >= TRUE
