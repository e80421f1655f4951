-- space: words
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = 'auto', model = 'local')
  frequency(*) FROM visits ORDER BY word
