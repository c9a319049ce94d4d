"""Estimators: a reduced record in, an estimate out; one a file."""

from ._estimate import Estimate as Estimate
from ._least_squares import ols as ols, wls as wls
from ._physical import physical as physical
