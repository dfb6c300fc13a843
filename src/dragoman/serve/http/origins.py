"""Where a request comes from: which pages may write, through which proxies, under which path. No texts.

By `Sec-Fetch-Site` and `Origin` a browser names the page that has made a request. One of another origin that is not
allowed may read nothing, which browsers see to, and write nothing, which is refused here: a form or a `fetch` without
permission would otherwise be carried out, only its answer kept from the page. Programs send neither header.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from dragoman.errors import ConfigError
from dragoman.serve.http.problems import Problem

SAFE = ("GET", "HEAD", "OPTIONS")
# Read by GET, but each answer costs seconds of a processor: `<img src=…>` of any page would have them computed.
DEAR = ("/v1/inspect/page", "/v1/translator")
ANY, SANDBOXED = "*", "null"
_DEFAULT_PORTS = {"http": 80, "https": 443}
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_BRACKETED = re.compile(r"\[(.*)\](?::\d+)?")
_NAME = re.compile(r"[\w.-]+", re.ASCII)
_PATH = re.compile(r"(/[\w.~-]+)*", re.ASCII)
# What a page of another origin may send and read besides what browsers allow by themselves.
_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_SENT = "Authorization, Content-Type, Accept"
_READ = "Content-Disposition, Location, Retry-After, X-Request-Id, X-Trace-ID"
# Seconds for which a browser need not ask again.
_REMEMBERED = "600"


@dataclass(frozen=True)
class PublicAddress:
    """The names, pages, proxies and path by which the service is known outside."""

    hosts: frozenset[str] = frozenset(("localhost",))
    """The names that a request may be for; addresses always may."""
    origins: frozenset[str] = frozenset()
    """The origins of pages that may use it besides its own; `null` is a sandboxed page, `*` is any."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed."""
    root: str = ""
    """The path under which a proxy offers it, such as `/dragoman`; "" where it has a name for itself."""

    def path(self, path: str) -> str:
        """A path as a client outside has to ask for it."""
        return f"{self.root}{path}"

    def without_root(self, path: str) -> str:
        """The path of a request without the one of the proxy, which may leave it there or take it off."""
        inside = self.root and path.startswith(f"{self.root}/")
        return path[len(self.root) :] if inside else path

    def allows(self, origin: str) -> bool:
        """Whether pages of this origin may use the service."""
        return bool(origin) and (ANY in self.origins or origin.lower() in self.origins)

    def redirected(self, location: str) -> str:
        """Where a client outside goes for an address of this service: a path, which no proxy has to change."""
        parts = urlsplit(location)
        query = f"?{parts.query}" if parts.query else ""
        return self.path(f"/{parts.path.lstrip('/')}{query}")  # `//name` would be another host

    def client(self, scope: Scope) -> Scope:
        """The request with the address and the scheme that a trusted proxy says; what is no address is not believed."""
        if not self.proxies or not scope.get("client") or not self._trusts(_address(scope["client"][0])):
            return scope
        headers = Headers(scope=scope)
        scheme = headers.get("x-forwarded-proto", "").strip().lower()
        hops = [hop for line in headers.getlist("x-forwarded-for") for hop in line.split(",")]
        sender = next((hop for hop in reversed(hops) if not self._trusts(_address(hop))), hops[0] if hops else "")
        address = _address(sender)
        changes = {"scheme": scheme} if scheme in ("http", "https") else {}
        return {**scope, **changes, **({"client": (str(address), 0)} if address else {})}

    def _trusts(self, address: Address | None) -> bool:
        return address is not None and any(address in _parsed(proxy) for proxy in self.proxies)

    def refusal(self, method: str, path: str, headers: Headers) -> Problem | None:
        """The problem of a request of another origin's page that may write something, or costs much."""
        origin, site = headers.get("origin", ""), headers.get("sec-fetch-site", "")
        foreign = (
            site not in ("same-origin", "none") if site else origin and not _is_of(origin, headers.get("host", ""))
        )
        if method == "OPTIONS" and origin and "access-control-request-method" in headers:
            return None if self.allows(origin) or not foreign else _foreign(origin)
        guarded = method not in SAFE or path in DEAR
        return _foreign(origin) if guarded and foreign and not self.allows(origin) else None

    def permissions(self, headers: Headers) -> dict[str, str]:
        """The headers by which a browser lets a page of an allowed origin read the answer."""
        if not self.origins:
            return {}
        origin, vary = headers.get("origin", ""), {"Vary": "Origin"}
        if not self.allows(origin):
            return vary
        shared = {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": _READ}
        return shared | {"Cross-Origin-Resource-Policy": "cross-origin"} | vary

    def preflight(self, method: str, headers: Headers) -> dict[str, str] | None:
        """The headers that answer a browser which asks whether a page may send a request; None: no such question."""
        if method != "OPTIONS" or "access-control-request-method" not in headers:
            return None
        if not self.allows(headers.get("origin", "")):
            return None
        sent = headers.get("access-control-request-headers") or _SENT
        allowed = {"Access-Control-Allow-Methods": _METHODS, "Access-Control-Allow-Headers": sent[:1000]}
        if headers.get("access-control-request-private-network") == "true":
            allowed["Access-Control-Allow-Private-Network"] = (
                "true"  # a public page that uses a service of this network
            )
        return allowed | {"Access-Control-Max-Age": _REMEMBERED}


def public_address(
    names: Sequence[str] = (), origins: Sequence[str] = (), proxies: Sequence[str] = (), root: str = ""
) -> PublicAddress:
    """The address that these options make. Raises ConfigError."""
    networks = []
    for proxy in proxies:
        try:
            networks.append(_network(proxy))
        except ValueError:
            raise ConfigError(
                f"--trusted-proxy {proxy}: not an address or a network; write 127.0.0.1 or 10.0.0.0/8"
            ) from None
    root = root.rstrip("/")
    if not _PATH.fullmatch(root):
        raise ConfigError(f"--root-path {root}: not a path; write /dragoman, for example")
    hosts = frozenset(name.lower() for name in ("localhost", *names))
    return PublicAddress(hosts, frozenset(map(_checked, origins)), tuple(networks), root)


def host_name(name: str) -> str:
    """A name of a host as requests have it, without their port. Raises ConfigError for what no request can have."""
    text = unicodedata.normalize("NFC", name.lower())
    try:
        written = text.encode("idna").decode()
        is_same = text.isascii() or written.encode().decode("idna") == text  # `ß` would become `ss`, which is another's
    except UnicodeError:
        written, is_same = "", False
    if (is_same and _NAME.fullmatch(written)) or _is_address(text):
        return written
    what = "not the name of a host; write translate.example.org, or xn--… as browsers do, without scheme, port and path"
    raise ConfigError(f"--allow-host {name}: {what}")


def _is_address(text: str) -> bool:
    """Whether a text is an address without a port."""
    try:
        ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _address(text: str) -> Address | None:
    """The address of a hop, which may have a port; None of what is none, as a name or anything that a client made up.

    IPv4 within IPv6 is IPv4, so that one client has one address.
    """
    text = text.strip()
    bracketed = _BRACKETED.fullmatch(text)
    host = bracketed[1] if bracketed else text.partition(":")[0] if text.count(":") == 1 else text
    try:
        address = ipaddress.ip_address(host.partition("%")[0])  # the zone is a name of the other machine's
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@cache
def _parsed(proxy: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(proxy)


def _network(proxy: str) -> str:
    """An address, or a network by its first address, as the server compares it. Raises ValueError."""
    network = ipaddress.ip_network(proxy, strict=False)
    mapped = getattr(network.network_address, "ipv4_mapped", None)
    if mapped and network.prefixlen >= 96:  # as a socket for both shows an address of IPv4
        network = ipaddress.ip_network(f"{mapped}/{network.prefixlen - 96}", strict=False)
    return str(network.network_address if network.num_addresses == 1 else network)


def _checked(origin: str) -> str:
    """An origin as browsers write it. Raises ConfigError."""
    try:
        parts = urlsplit(origin)
    except ValueError:  # such as `http://[`
        parts = urlsplit("")
    if origin in (ANY, SANDBOXED) or (parts.scheme and parts.netloc and origin.count("/") == 2):
        port = _DEFAULT_PORTS.get(parts.scheme.lower())
        return origin.lower().removesuffix(f":{port}")
    what = "not an origin; write https://app.example, with its port if it has one; null is a sandboxed page"
    raise ConfigError(f"--allow-origin {origin}: {what}")


def _is_of(origin: str, host: str) -> bool:
    """Whether a page of this origin is of the host that was asked, whatever its scheme: a proxy may add TLS."""
    try:
        parts = urlsplit(origin.lower())
    except ValueError:  # such as `http://[`, which is no browser's
        return False
    port = _DEFAULT_PORTS.get(parts.scheme)
    hosts = {parts.netloc, parts.netloc.removesuffix(f":{port}"), f"{parts.netloc}:{port}"}
    return bool(parts.netloc) and host.lower() in hosts


def _foreign(origin: str) -> Problem:
    shown = f"a page of {origin!r:.80}" if origin else "a page of another site"
    detail = f"{shown} may not use the service; `dragoman serve --allow-origin ORIGIN` allows it"
    return Problem(403, "origin", "The page may not use the service", detail)
