-- code: unknown-privacy
-- underlined: ANONYMIZATION
-- says: WITH EMD_PRIVACY
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1) AVG(price) FROM visits
