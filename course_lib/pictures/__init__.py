"""Pictures: each function takes numbers or a Run and returns a Picture."""
