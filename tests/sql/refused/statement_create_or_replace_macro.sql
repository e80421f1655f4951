-- code: create
-- underlined: CREATE OR REPLACE MACRO
-- says: CREATE OR REPLACE MACRO is refused
CREATE OR REPLACE MACRO f(x) AS x + 1
