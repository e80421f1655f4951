-- code: statement
-- underlined: .
-- says: begins no statement
.shell ls
