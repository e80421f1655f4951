-- code: look-alike
-- underlined: ſelect
-- says: plain letters
ſelect AVG(price) FROM visits
