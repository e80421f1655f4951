-- code: frequency-option
-- underlined: noise = 'laplace'
-- says: name a method
-- about: cells
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, noise = 'laplace') FREQUENCY(*) FROM visits
