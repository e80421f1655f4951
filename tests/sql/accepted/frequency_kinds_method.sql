-- space: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = krr, model = local) FREQUENCY(category) FROM visits
