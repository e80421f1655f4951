-- code: copy
-- underlined: COPY
-- says: write its SELECT alone
COPY (SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits) TO 'x.csv'
