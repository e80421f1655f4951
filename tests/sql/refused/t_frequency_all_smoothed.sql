-- code: frequency-option
-- underlined: method = 'smoothed'
-- says: counted as they are
-- about: cells
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = 'smoothed') FREQUENCY(*) FROM visits
