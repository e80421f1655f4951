-- code: frequency-option
-- underlined: model = 'local'
-- says: no Lipschitz constant
-- about: plain
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, model = 'local') FREQUENCY(GRID(1.0)) FROM visits
