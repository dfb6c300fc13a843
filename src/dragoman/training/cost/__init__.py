"""What an update costs in floating-point operations, by equation."""
