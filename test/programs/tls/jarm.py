"""
Prints the JARM fingerprint of the TLS server on each local port that is given, one a line.

`jarm.py PORT...`
"""

import asyncio
import sys

import aiojarm

for port in sys.argv[1:]:
    print(asyncio.run(aiojarm.scan("127.0.0.1", int(port)))[3])
