-- code: transaction
-- underlined: BEGIN TRANSACTION
-- says: BEGIN TRANSACTION is refused
BEGIN TRANSACTION
