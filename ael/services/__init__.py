"""Services and nodes that run elsewhere: the form of their calls (the Connect protocol's unary JSON), and the client's side of it.

The serving side is `ael.server`, which speaks the same form.
"""
