"""From a robot's file and logs of its motion to an identified robot."""

from ._base import (
    Base as Base,
    base_parameters as base_parameters,
    same_span as same_span,
)
from ._columns import (
    column_names as column_names,
    columns as columns,
    free_bodies as free_bodies,
    joint_torque as joint_torque,
    Term as Term,
    TERMS as TERMS,
    Unknowns as Unknowns,
    WIDTH as WIDTH,
)
from ._demo import ARM7 as ARM7, demo as demo, Demonstration as Demonstration
from ._estimate import Estimate as Estimate
from ._excitation import (
    ACCELERATION as ACCELERATION,
    fourier_trajectories as fourier_trajectories,
    FourierSeries as FourierSeries,
    Trajectories as Trajectories,
    UNLIMITED as UNLIMITED,
    VELOCITY as VELOCITY,
)
from ._holdout import hold_out as hold_out
from ._identify import Identification as Identification, identify as identify
from ._info import info as info
from ._inspect import Finding as Finding, inspect as inspect
from ._least_squares import ols as ols, wls as wls
from ._log import Log as Log
from ._mount import mount as mount
from ._optax import optax_fit as optax_fit
from ._physical import physical as physical
from ._read_log import read_log as read_log
from ._reduce import reduce as reduce, Reduction as Reduction
from ._report import report as report
from ._results import as_json as as_json, as_text as as_text
from ._signals import LowPass as LowPass, Motion as Motion, motion as motion
from ._validate import (
    Curves as Curves,
    JointValidation as JointValidation,
    validate as validate,
    Validation as Validation,
)
from ._write_log import write_log as write_log
