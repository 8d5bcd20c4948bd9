"""The tables of attacks, a module for each kind of thing that an attacker gets hold of."""
