-- code: user-mean-option
-- underlined: noise = 'laplace'
-- says: leave noise out
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, noise = 'laplace') USER_MEAN(price) FROM visits
