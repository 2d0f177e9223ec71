"""clash-controller-api, a library that finds out by itself what a controller can do.

Usage: controller.py URL SECRET

Prints a line of JSON with what it has found.
"""

import asyncio
import json
import sys

import aiohttp
from clash_controller_api import ClashAPI
from clash_controller_api.exceptions import APIAuthError

URL, SECRET = sys.argv[1:]


async def main():
    async with aiohttp.ClientSession() as session:
        api = ClashAPI(URL, SECRET, session=session)
        await api.async_validate_connection()
        version = await api.async_get_version()
        result = await api.async_fetch_data()
        refused = False
        try:
            await ClashAPI(URL, "wrong", session=session).async_validate_connection()
        except APIAuthError:
            refused = True
        print(
            json.dumps(
                {
                    "model": version.model,
                    "supported": sorted(key for key, on in api.capabilities.items() if on),
                    "data": sorted(result.data),
                    "errors": {key: str(error) for key, error in result.errors.items()},
                    "connections": len(result.data["connections"]["connections"]),
                    "memory": result.data["memory"]["inuse"],
                    "refused": refused,
                }
            )
        )


asyncio.run(main())
