-- code: values
-- underlined: VALUES
-- says: VALUES is refused
VALUES (1), (2)
