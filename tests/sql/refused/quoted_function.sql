-- code: quoted-function
-- underlined: "AVG"(price)
-- says: remove the quotes
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) "AVG"(price) FROM visits
