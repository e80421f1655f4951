-- code: create
-- underlined: CREATE FUNCTION
-- says: CREATE FUNCTION is refused
CREATE FUNCTION f(x) AS x
