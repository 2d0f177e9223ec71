"""Asks a resolver for the names of server.py, all at once, and prints a line of JSON for each: client.py ADDRESS."""

import asyncio
import json
import sys

import dns.asyncquery
import dns.message
import dns.rcode
import dns.rdatatype

# Seconds for a response: a resolver that asks again may take some.
PATIENCE = 40


async def ask(resolver, case):
    query = dns.message.make_query(f"{case}.hostile.test", "A", use_edns=True, payload=1232)
    try:
        response, over_tcp = await dns.asyncquery.udp_with_fallback(query, resolver, timeout=PATIENCE)
    except Exception as error:
        return {"case": case, "error": type(error).__name__}
    addresses = [
        item.address for rrset in response.answer if rrset.rdtype == dns.rdatatype.A for item in rrset
    ]
    return {
        "case": case,
        "code": dns.rcode.to_text(response.rcode()),
        "addresses": sorted(set(addresses))[:3],
        "count": len(addresses),
        "tcp": over_tcp,
    }


async def main(resolver, cases):
    for verdict in await asyncio.gather(*(ask(resolver, case) for case in cases)):
        print(json.dumps(verdict), flush=True)
    # After all of that: what a hostile response has left in the cache.
    for case in ("victim", "honest"):
        print(json.dumps(await ask(resolver, case) | {"case": f"{case} afterwards"}), flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2:]))
