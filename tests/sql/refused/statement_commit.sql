-- code: transaction
-- underlined: COMMIT
-- says: COMMIT is refused
COMMIT
