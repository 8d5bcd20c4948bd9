import unittest

from basket import Basket


class BasketTest(unittest.TestCase):
    def test_nothing_costs_nothing(self):
        self.assertEqual(Basket().total(), 0)

    def test_a_few_cost_their_price(self):
        basket = Basket()
        basket.add("pen", 120, 3)
        self.assertEqual(basket.total(), 360)

    def test_ten_are_many(self):
        basket = Basket()
        basket.add("pen", 120, 10)
        self.assertEqual(basket.total(), 1080)

    def test_a_rebate_is_never_rounded_up(self):
        basket = Basket()
        basket.add("pin", 1, 15)
        self.assertEqual(basket.total(), 14)


if __name__ == "__main__":
    unittest.main()
