"""PyPI's mcp, in one era: lists tools, calls one, and prints what it saw as JSON."""
import asyncio, json, os, sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

mode, target, *args = sys.argv[1:]


async def use(server):
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool("execute_code", {"code": "print(6 * 7)"})
        print(json.dumps({"tools": [tool.name for tool in tools.tools], "result": result.structured_content}))


async def main():
    if not target.startswith("http"):
        return await use(StdioServerParameters(command=target, args=args, env=dict(os.environ)))
    async with httpx2.AsyncClient(headers={"x-api-key": os.environ["KEY"]}) as http:
        await use(streamable_http_client(target, http_client=http))


asyncio.run(main())
