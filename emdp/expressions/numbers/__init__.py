"""Numbers that guarantees rest on: outward rounding, bounds of functions, fixed point."""
