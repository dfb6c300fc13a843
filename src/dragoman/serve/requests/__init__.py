"""What is known about a request while it is worked on and when it has been answered."""
