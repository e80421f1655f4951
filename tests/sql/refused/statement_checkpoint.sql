-- code: checkpoint
-- underlined: CHECKPOINT
-- says: CHECKPOINT is refused
CHECKPOINT
