-- code: option-missing
-- underlined: EMD_PRIVACY
-- says: alpha
SELECT WITH EMD_PRIVACY OPTIONS () AVG(price) FROM visits
