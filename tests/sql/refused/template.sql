-- code: template
-- underlined: {#
-- says: text that the template gives
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE city = {# comment #} 'a'
