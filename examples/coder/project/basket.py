"""What is in a basket, and what it costs."""

from pricing import discounted


class Basket:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1):
        """Put `count` pieces of something into the basket. `price` is in cents."""
        self.lines.append((name, price, count))

    def total(self):
        """What the basket costs, in cents, with the discount of each line."""
        return sum(discounted(price, count) for _, price, count in self.lines)
