"""Cases as data against this core: files in, a verdict per case out.

A case says what goes in and what must come out; which kind it is, its keys say. Nothing here knows the
name of a case, a file or a folder.
"""

from tangram.conformance.judge import judge_file
from tangram.conformance.verdict import CaseReport, FileReport, Verdict

__all__ = ["CaseReport", "FileReport", "Verdict", "judge_file"]
