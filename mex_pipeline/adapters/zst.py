"""The door to Zstandard: a compressed file as a stream of what is in it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

MAGIC = b"\x28\xb5\x2f\xfd"
"""How a compressed file begins."""

_WINDOW_LOG = 27
"""What a frame may make the reader hold: 2 ** 27 bytes, the format's own recommendation for decoders."""


class DamagedStream(Exception):
    """The file is cut off, or is no Zstandard after all."""


@contextmanager
def unpacked(file: BinaryIO) -> Iterator[BinaryIO]:
    """Yield the content of an open compressed file, decompressed as it is read: positions are those of the content.

    Going back decompresses again from the start. Raises DamagedStream while reading.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - of Python 3.14 on
    else:
        from backports import zstd  # noqa: PLC0415 - only a compressed session needs it

    try:
        with zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}) as stream:
            yield cast("BinaryIO", stream)
    except (zstd.ZstdError, EOFError) as error:
        raise DamagedStream from error
