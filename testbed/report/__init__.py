"""Reports: runs that are finished, as pages, figures and films a person looks at."""

from testbed.report.folder import RunFolder, read_folder
from testbed.report.page import write_report

__all__ = ["RunFolder", "read_folder", "write_report"]
