"""Runs cases from files against this core: takes files; returns a verdict per case.

A case has an input and the expected answer. Its keys say of which kind it is. No code here depends on the
name of a case, a file or a folder.
"""

from tangram.conformance.judge import judge_file
from tangram.conformance.verdict import CaseReport, FileReport, Verdict

__all__ = ["CaseReport", "FileReport", "Verdict", "judge_file"]
