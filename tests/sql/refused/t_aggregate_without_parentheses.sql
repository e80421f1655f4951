-- code: aggregate-parentheses
-- underlined: AVG
-- says: AVG is an aggregate, and lacks its parentheses; write AVG(..)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG price FROM visits
