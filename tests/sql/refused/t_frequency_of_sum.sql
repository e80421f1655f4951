-- code: frequency-column
-- underlined: price + 1
-- says: write QUANTILE(price + 1, 0.5, 0.9)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(price + 1) FROM visits
