-- code: nesting
-- underlined: (
-- says: nested more than
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) ((((((((((((((((((((((((((price)))))))))))))))))))))))))) FROM visits
