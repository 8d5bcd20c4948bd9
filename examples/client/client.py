"""A reader's own program, which calls the library over the network: `python client.py ADDRESS`."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

import ael


@dataclass
class Loan:
    """As the record `Loan` of the library."""

    book: str
    reader: str
    fee: Decimal


def told(outcome: ael.Outcome[Loan]) -> str:
    """What the reader is told: one answer for each way in which a call can end."""
    match outcome:
        case ael.Value(value=loan):
            return f"{loan.reader} has {loan.book}, for {loan.fee}"
        case ael.DeclaredError(error="Lent", fields=fields):
            return f"{fields['book']} is lent already"
        case ael.DeclaredError(error=error):
            return error
        case ael.Faulted(kind=kind):
            return f"the library is closed: {kind}"
        case ael.Uncertain(key=key):
            return f"nobody knows yet whether it was lent: ask again under {key}"
        case ael.Suspended():
            return "a librarian looks at it"
        case _:
            assert_never(outcome)


async def main(address: str) -> None:
    """Ask, borrow, and borrow again."""
    async with ael.connect(address, token=os.environ["READER_TOKEN"]) as library:
        print("offered:", ", ".join(library.methods))

        call = library.stream("answer", {"question": "Is Moby Dick there?"}, result_type=str)
        async for event in call:
            match event:
                case ael.events.Text(text=text):
                    print(f"  … {text}")
                case ael.events.ToolFinished(tool=tool, ending=ending):
                    print(f"  {tool}: {ending}")
        print("answered:", (await call).unwrap())

        # One key is one loan, however often the call is sent: here as after a reply that was lost.
        for key in ("ida-1", "ida-1", "ida-2"):
            loan = await library.call("Loans.lend", {"book": "Moby Dick", "reader": "Ida"}, result_type=Loan, key=key)
            print(f"{key}: {told(loan)}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
