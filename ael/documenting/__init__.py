"""`ael doc`: pages of a pack from its doc comments and from what the check knows of it."""
