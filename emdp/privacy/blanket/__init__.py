"""The accountant for a randomizer whose law is known: the privacy blanket (EMD 3)."""
