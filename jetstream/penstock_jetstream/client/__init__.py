"""What users call: shells that carry out what core decides."""
