-- code: options
-- underlined: EMD_PRIVACY
-- says: follow the word OPTIONS
SELECT WITH EMD_PRIVACY (alpha = 1) AVG(price) FROM visits
