"""What a user's function is given: the batch and its helpers, and the exceptions that it may raise."""
