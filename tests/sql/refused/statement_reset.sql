-- code: set
-- underlined: RESET
-- says: RESET is refused
RESET threads
