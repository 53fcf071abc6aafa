"""Names that people choose, as names of files.

Two names that differ give two files that differ, also where upper and lower case are one, and none can leave its
folder: what comes out is made of letters, digits, ``_``, ``-`` and ``~`` alone, and is short. A name of lower-case
letters, digits, ``_`` and ``-`` stays as it is.
"""

from __future__ import annotations

import hashlib

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST = 100  # with a hash and an ending well under 143, the least that a file system in use allows


def file_name(name: str) -> str:
    """The name as a file's: what may not be in one as ``~`` and the byte in hex. (Not ``%``: half of all programs
    take that for a URL's.) A hash follows where that is too long, or where case alone tells names apart."""
    quoted = "".join(chr(b) if chr(b) in _PLAIN else f"~{b:02x}" for b in name.encode("utf-8", "surrogatepass"))
    if len(quoted) <= _LONGEST and not any("A" <= letter <= "Z" for letter in quoted):
        return quoted
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{quoted[:_LONGEST]}~~{mark}"
