from inferscope.reporter.report_generator import ReportGenerator as ReportGenerator

__all__ = ["ReportGenerator"]
