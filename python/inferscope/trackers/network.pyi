from inferscope.trackers._tracker import Tracker

class NetworkTracker(Tracker):
    def get_current_usage(self) -> float: ...
