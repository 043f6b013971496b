"""Limit how many wrong tokens an address may try, so that nobody guesses one."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

MOST = 10
"Wrong tokens of one address within a minute."

ADDRESSES = 10_000
"Addresses that are remembered; of more, those whose first wrong token is oldest are forgotten."


class WrongTokens:
    """Count wrong tokens by address, over `seconds` from the first one. A network of IPv6 (/64) is one address."""

    def __init__(
        self,
        most: int = MOST,
        seconds: float = 60.0,
        addresses: int = ADDRESSES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._seconds, self._addresses, self._clock = most, seconds, addresses, clock
        self._counted: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self._counted)

    def add(self, address: str) -> None:
        """Count a wrong token."""
        key, now = _network(address), self._clock()
        begun, count = self._counted.get(key, (now, 0))
        if now >= begun + self._seconds:
            begun, count = now, 0
        if not count:
            self._counted.pop(key, None)  # so that the dictionary is in the order of the first wrong tokens
            if len(self._counted) >= self._addresses:
                del self._counted[next(iter(self._counted))]
        self._counted[key] = begun, count + 1

    def wait(self, address: str) -> int:
        """Seconds for which no token of this address is to be tried."""
        begun, count = self._counted.get(_network(address), (0.0, 0))
        left = begun + self._seconds - self._clock()
        return max(0, math.ceil(left)) if count >= self._most else 0


def _network(address: str) -> str:
    """The address, or the network of one of version 6: whoever has one address of it has all."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a socket of another kind
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.IPv6Address(int(parsed) >> 64 << 64))
