-- code: distribution-groups
-- underlined: category
-- says: WHERE in one statement
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MEDIAN(price) FROM visits GROUP BY category
