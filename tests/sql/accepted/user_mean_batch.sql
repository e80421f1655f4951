-- space: line
-- lipschitz: a=50, b=50
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price) AS a FROM visits;
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS b FROM visits;
