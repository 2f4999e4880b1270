"""An HTTP client for the configured endpoint and nothing else (product P1)."""

import ipaddress
import ssl
from functools import lru_cache
from typing import Any

import httpx

from mex_pipeline.errors import InvalidInput

NO_KEY = "no-key"
MAX_BYTES = 4_000_000
"""Of an answer, unpacked; many times what a model says. A longer one is cut, and so is no JSON any more."""

_CONNECT_SECONDS = 10.0
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_SENT_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "user-agent"}
)


class _Client(httpx.AsyncClient):
    """Reads no more of an answer than `MAX_BYTES`: an endpoint that never ends, or packs gigabytes, fills no memory."""

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """Send a request; without `stream` the answer is read, cut at `MAX_BYTES`."""
        response = await super().send(request, stream=True, **options)
        if stream:
            return response
        body = bytearray()
        try:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    break
        finally:
            await response.aclose()
        # The body is unpacked: what told how it was packed no longer holds.
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_WIRE]
        return httpx.Response(response.status_code, headers=headers, content=bytes(body[:MAX_BYTES]), request=request)


def checked_key(api_key: str, setting: str = "llm.api_key") -> str:
    """Return the key without blanks around it; raises InvalidInput for one that no header can carry."""
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput("llm_bad_setting", key=setting)
    return key


def origin(url: httpx.URL) -> str:
    """Return scheme, host and port: what an error may show of an endpoint."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def checked_url(base_url: str, setting: str = "llm.base_url") -> httpx.URL:
    """Return the endpoint's URL; the full address of a call, often pasted, is taken as well."""
    try:
        url = httpx.URL(base_url.strip().rstrip("/").removesuffix("/chat/completions").removesuffix("/embeddings"))
    except httpx.InvalidURL as error:
        raise InvalidInput("llm_bad_setting", key=setting) from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise InvalidInput("llm_bad_setting", key=setting)
    return url


def http_client(url: httpx.URL, timeout_seconds: float) -> httpx.AsyncClient:
    """Return a client that uses the environment's proxies, except for an endpoint on this machine.

    It follows no redirect: the prompt goes to the configured endpoint and nowhere else (product P1).
    """
    try:
        return _Client(
            timeout=httpx.Timeout(timeout_seconds, connect=_CONNECT_SECONDS),
            verify=_trusted(),
            trust_env=not _is_this_machine(url.host),
            follow_redirects=False,
            event_hooks={"request": [_keep_known_headers]},
        )
    except (ImportError, ValueError) as error:
        # A SOCKS proxy without its package, or a proxy address that is none.
        raise InvalidInput("llm_bad_proxy") from error


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """The certificates that are trusted, read once in a process: every job has a client of its own."""
    return httpx.create_ssl_context()


def _is_this_machine(host: str) -> bool:
    """True for localhost and loopback addresses."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


async def _keep_known_headers(request: httpx.Request) -> None:
    """Drop what the library adds of its own: the machine's description, and another provider's organisation."""
    for name in set(request.headers) - _SENT_HEADERS:
        del request.headers[name]


def no_answer(cause: BaseException | None) -> str:
    """Return the code for a request without an answer: not reached, too slow, or broken off."""
    if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return "llm_unreachable"
    if isinstance(cause, httpx.TimeoutException | TimeoutError):
        return "llm_timeout"
    return "llm_connection_lost"
