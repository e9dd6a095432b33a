"""Reports and charts of an analysis."""

from inferscope.reporter.report_generator import ReportGenerator

__all__ = ["ReportGenerator"]
