-- space: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, noise = 'laplace') FREQUENCY(category) FROM visits
