"""What the composition root puts together: one file for each kind of thing that a deployment binds."""
