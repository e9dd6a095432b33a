"""asyncio: tasks, cancellation, timeouts, asynchronous generators and contexts, threads, child processes."""

import asyncio
import contextlib
import contextvars
import sys

variable = contextvars.ContextVar("variable", default=0)


async def add(n):
    variable.set(n)
    await asyncio.sleep(0)
    return n + variable.get()


async def numbers(n):
    try:
        for i in range(n):
            yield i
            await asyncio.sleep(0)
    finally:
        print("numbers closed")


async def cancelled():
    task = asyncio.create_task(asyncio.sleep(100), name="sleeper")
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", task.get_name(), task.cancelled())
    try:
        await asyncio.wait_for(asyncio.sleep(100), 0.001)
    except asyncio.TimeoutError:
        print("timed out")


@contextlib.asynccontextmanager
async def managed():
    print("enter")
    try:
        yield 1
    except ValueError as error:
        print("caught", error)
    finally:
        print("leave")


async def generators():
    print([n async for n in numbers(3)])
    async for n in numbers(3):
        if n == 1:
            break
    async with managed():
        raise ValueError("inside")
    closing = numbers(5)
    await closing.__anext__()
    await closing.aclose()


async def fails():
    raise KeyError("a task's")


async def together():
    print(await asyncio.gather(*map(add, range(5))))
    print(await asyncio.gather(add(1), fails(), return_exceptions=True))
    print(await asyncio.get_running_loop().run_in_executor(None, sum, range(10)))
    queue = asyncio.Queue()

    async def produce():
        for i in range(3):
            await queue.put(i)
    await asyncio.gather(produce(), produce())
    print(sorted(queue.get_nowait() for _ in range(queue.qsize())))
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1 + 1)", stdout=asyncio.subprocess.PIPE)
    print(await child.communicate())


async def main():
    await together()
    await cancelled()
    await generators()
    asyncio.create_task(fails())
    await asyncio.sleep(0)
    print("the end of main")


asyncio.run(main())
asyncio.run(main(), debug=True)
asyncio.run(fails())
