-- code: frequency-option
-- underlined: method = 'krr'
-- says: leave one of the two
-- about: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, noise = 'laplace', method = 'krr') FREQUENCY(category) FROM visits
