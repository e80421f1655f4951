"""Few bits a user to a curator or a shuffler: sampled coordinates, sampled Hadamard rows, rounds of signs."""
