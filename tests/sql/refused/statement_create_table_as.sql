-- code: create
-- underlined: CREATE TABLE
-- says: changes or stores anything; write its SELECT alone, and store the answer yourself
CREATE TABLE z AS SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits
