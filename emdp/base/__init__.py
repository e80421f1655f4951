"""Ground of the package: errors, checks of arguments, frames, lazy names, hidden statistics, forks."""
