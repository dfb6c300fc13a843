"""The native dialect, `/v1`: its routes and their schemas."""
