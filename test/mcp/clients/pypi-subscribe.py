"""PyPI's mcp 1.x: lists resources, subscribes to each, changes something, and prints what it was told as JSON."""
import asyncio, json, os, sys
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

target, *args = sys.argv[1:]


@asynccontextmanager
async def streams():
    if target.startswith("http"):
        async with streamablehttp_client(target, headers={"x-api-key": os.environ["KEY"]}) as (read, write, _):
            yield read, write
    else:
        async with stdio_client(StdioServerParameters(command=target, args=args, env=dict(os.environ))) as both:
            yield both


async def main():
    told, news = [], asyncio.Event()

    async def heard(message):
        if isinstance(message, types.ServerNotification) and message.root.method == "notifications/resources/updated":
            told.append(str(message.root.params.uri))
            if any(uri.startswith("sandbox://logs") for uri in told) and any("/kept" in uri for uri in told):
                news.set()

    async with streams() as (read, write), ClientSession(read, write, message_handler=heard) as session:
        await session.initialize()
        await session.call_tool("write_file", {"path": "kept", "content": "1"})
        listed = [resource.uri for resource in (await session.list_resources()).resources]
        for uri in listed:
            await session.subscribe_resource(uri)
        await session.call_tool("execute_code", {"code": "echo 2 > kept", "language": "shell"})
        await asyncio.wait_for(news.wait(), 30)
        for uri in listed:
            await session.unsubscribe_resource(uri)
        print(json.dumps({"listed": [str(uri) for uri in listed], "told": sorted(set(told))}))


asyncio.run(main())
