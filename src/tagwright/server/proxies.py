"""Which proxies are believed, and whom they name as the user."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from starlette.datastructures import Headers
from starlette.types import Scope

from tagwright.errors import ConfigError
from tagwright.server.access import LONGEST_NAME
from tagwright.text.words import clean

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Proxies:
    """The proxies that are believed.

    forwarders: addresses and networks, as uvicorn takes them, of those that may name the client by `X-Forwarded-For`;
    "" for none.
    user_header: in which the proxies among `networks` name the user that they have authenticated; "" for none.
    """

    forwarders: str = ""
    user_header: str = ""
    networks: Sequence[Network] = ()

    @classmethod
    def of(cls, addresses: str, user_header: str = "") -> Self:
        """addresses: separated by commas; "" for none. Raises ConfigError."""
        if not user_header:
            return cls(addresses)
        if not addresses:
            raise ConfigError(f"who may send {user_header}? name the addresses of the proxies, as --proxies 10.0.0.1")
        try:
            networks = tuple(ipaddress.ip_network(each.strip()) for each in addresses.split(","))
        except ValueError as error:
            raise ConfigError(f"--proxies: {error}; with --user-header, expected such as 10.0.0.1,::1") from None
        return cls(addresses, user_header, networks)

    def user(self, scope: Scope) -> str:
        """The user that a proxy names; "" without one. The client of `scope` must be the one of the connection.

        A header that comes twice is not believed: a proxy that adds its own may pass on that of a client.
        """
        if not self.user_header or not scope.get("client"):
            return ""
        try:
            address = ipaddress.ip_address(scope["client"][0])
        except ValueError:
            return ""
        peer = getattr(address, "ipv4_mapped", None) or address
        given = Headers(scope=scope).getlist(self.user_header)
        if len(given) != 1 or not any(peer in network for network in self.networks):
            return ""
        return " ".join(clean(_decoded(given[0])).split())[:LONGEST_NAME]


def _decoded(value: str) -> str:
    """The text of a header, which Starlette reads as Latin-1 and proxies send in UTF-8."""
    try:
        return value.encode("latin-1").decode()
    except ValueError:
        return value
