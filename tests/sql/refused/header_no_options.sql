-- code: option-missing
-- underlined: EMD_PRIVACY
-- says: alpha
SELECT WITH EMD_PRIVACY AVG(price) FROM visits
