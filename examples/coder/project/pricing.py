"""Prices, in cents."""

# Who takes ten or more pieces of something pays a tenth less for them.
MANY = 10
REBATE = 10


def discounted(price, count):
    """What `count` pieces cost."""
    total = price * count
    if count > MANY:
        total -= total // REBATE
    return total
