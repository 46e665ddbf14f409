"""All cases: importing a module of cases adds them."""

from tests.selftest.differential import cases_file, cases_keys, cases_parts, cases_set, cases_tensor
from tests.selftest.differential.case import CASES, Case

MODULES = (cases_file, cases_keys, cases_parts, cases_set, cases_tensor)
__all__ = ["CASES", "MODULES", "Case"]
