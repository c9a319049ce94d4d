"""Differentiable rigid-body dynamics in JAX."""

from ._dynamics import (
    bias_force as bias_force,
    forward_dynamics as forward_dynamics,
    gravity_force as gravity_force,
    inverse_dynamics as inverse_dynamics,
    mass_matrix as mass_matrix,
)
from ._energy import gravity_energy as gravity_energy, kinetic_energy as kinetic_energy
from ._inertia import (
    check_consistency as check_consistency,
    convert_inertial as convert_inertial,
    Inconsistency as Inconsistency,
    inertial_from_log_cholesky as inertial_from_log_cholesky,
    inertial_from_pseudo_inertia as inertial_from_pseudo_inertia,
    INERTIAL_NAMES as INERTIAL_NAMES,
    log_cholesky as log_cholesky,
    nearest_consistent as nearest_consistent,
    pseudo_inertia as pseudo_inertia,
)
from ._kinematics import (
    forward_kinematics as forward_kinematics,
    frame_jacobian as frame_jacobian,
    frame_pose as frame_pose,
)
from ._load import load as load
from ._lock import lock as lock
from ._model import anonymous as anonymous, Model as Model, Report as Report
from ._regressor import torque_regressor as torque_regressor
from ._write import write as write, Written as Written


rnea, crba, aba = inverse_dynamics, mass_matrix, forward_dynamics
