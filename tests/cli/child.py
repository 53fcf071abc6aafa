"""The command line in a process of its own that works in the Spark of the process that started it, whose start it is
spared. It says `ready`, and runs its arguments as a command once it is sent a line."""

from __future__ import annotations

import sys

from attach import attach

from headrace.cli import app

if __name__ == "__main__":
    session = attach()
    print("ready", flush=True)
    sys.stdin.readline()
    app(sys.argv[1:], obj=session)
