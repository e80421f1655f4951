-- code: system-function
-- underlined: read_text('/etc/passwd')
-- says: public table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(read_text('/etc/passwd')) FROM visits
