-- code: into
-- underlined: INTO answers
-- says: stored by the caller
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) INTO answers FROM visits
