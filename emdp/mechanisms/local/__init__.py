"""Releases in the local model under d_EM-DP: users' own noise, or one bit each."""
