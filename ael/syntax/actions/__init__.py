"""What each rule of the grammar makes: `-> name` in `grammar/ael.lark` is the function `name` here.

An action takes the context, the offsets of its first and after its last character, and the values of the rule's symbols; a
token's value is its number in the lists of `Tokens`.
"""
