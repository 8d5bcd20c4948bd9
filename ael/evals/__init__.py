"""`ael eval`: a program's cases run against its deployment, graded, compared with a baseline and reported."""
