"""`ael studio`: one local page that shows kept runs, live, and where people decide, fork and start runs."""
