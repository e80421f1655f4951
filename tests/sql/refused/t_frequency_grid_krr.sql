-- code: frequency-option
-- underlined: method = 'krr'
-- says: emdp.Grid
-- about: plain
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = 'krr') FREQUENCY(GRID(1.0)) FROM visits
