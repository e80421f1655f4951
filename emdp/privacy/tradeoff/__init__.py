"""The accountant by trade-off functions, for any randomizer."""
