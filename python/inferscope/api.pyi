from inferscope import counter as counter, mark_event as mark_event, scope as scope

__all__: list[str]
