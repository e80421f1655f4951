-- code: dollar-quote
-- underlined: $tag$park$tag$
-- says: '..'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = $tag$park$tag$
