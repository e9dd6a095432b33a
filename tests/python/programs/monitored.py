"""sys.monitoring (3.12 and later): a profiler's number and a debugger's are free, and their events complete."""

import sys

if sys.version_info < (3, 12):
    print("no sys.monitoring")
    sys.exit()

monitoring = sys.monitoring
events = monitoring.events


def inner(n):
    return len(str(n))


def outer():
    return sum(inner(n) for n in range(3))


def monitor(tool, restart):
    seen = []
    monitoring.use_tool_id(tool, "test")
    for name in ("PY_START", "PY_RETURN", "PY_YIELD", "PY_RESUME", "LINE", "CALL", "C_RETURN", "RAISE", "PY_UNWIND"):
        monitoring.register_callback(tool, getattr(events, name), lambda code, *rest, name=name: seen.append((name, code.co_name)))
    monitoring.set_events(tool, events.PY_START | events.PY_RETURN | events.PY_YIELD | events.PY_RESUME | events.LINE |
                          events.CALL | events.RAISE | events.PY_UNWIND)
    outer()
    if restart:
        monitoring.restart_events()
        outer()
    monitoring.set_events(tool, 0)
    monitoring.free_tool_id(tool)
    print(len(seen), seen[:40])


def disabled(tool):
    seen = []

    def once(code, *rest):
        seen.append(code.co_name)
        return monitoring.DISABLE
    monitoring.use_tool_id(tool, "once")
    monitoring.register_callback(tool, events.PY_START, once)
    monitoring.set_events(tool, events.PY_START)
    outer()
    outer()
    monitoring.restart_events()
    outer()
    monitoring.set_events(tool, 0)
    monitoring.free_tool_id(tool)
    print(seen)


def local(tool):
    seen = []
    monitoring.use_tool_id(tool, "local")
    monitoring.register_callback(tool, events.PY_START, lambda code, *rest: seen.append(code.co_name))
    monitoring.set_local_events(tool, inner.__code__, events.PY_START)
    outer()
    monitoring.set_local_events(tool, inner.__code__, 0)
    monitoring.free_tool_id(tool)
    print(seen)


for tool in (0, 1, 2, 3, 5):
    monitor(tool, tool == 2)
    disabled(tool)
    local(tool)
print([monitoring.get_tool(tool) for tool in (0, 1, 2, 3, 5)])
