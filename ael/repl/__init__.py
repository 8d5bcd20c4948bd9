"""`ael repl`: inputs that are checked, lowered and run one after the other, as a program is."""
