"""Robots that do not stand upright."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.transform import Rotation

from jaxdyn import Model


def mount(
    model: Model, orientation: Sequence[float] | Float[Array | np.ndarray, "..."]
) -> Model:
    """The robot with its base turned in the world, on a wall or a ceiling.

    Its own world axes turn along, so that what changes is the direction of gravity.

    Args:
        model: The robot.
        orientation: Of the base in the world: a scalar-first quaternion, of any length,
            or the three angles roll, pitch, yaw of URDF. [rad]
    """
    numbers = np.asarray(orientation, float)
    match numbers.shape:
        case (4,) if numbers.any():
            base = Rotation.from_quat(numbers, scalar_first=True)
        case (3,):
            base = Rotation.from_euler("xyz", numbers)
        case _:
            raise ValueError(
                "An orientation is a quaternion `w x y z` that is not zero, or the three "
                f"angles roll, pitch, yaw in rad, but came {numbers.tolist()}."
            )
    return model.with_gravity(base.inv().apply(np.asarray(model.gravity)))
