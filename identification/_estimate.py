"""What every estimator returns."""

import dataclasses

import numpy as np
from jaxtyping import Float64


@dataclasses.dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters of a robot, and how well a record determines them."""

    method: str
    """Name of the estimator."""
    parameters: Float64[np.ndarray, " p"]
    """All parameters; what the record does not determine is as near to the prior as the
    method can have it."""
    base: Float64[np.ndarray, " r"]
    """Base parameters."""
    covariance: Float64[np.ndarray, "r r"]
    """Covariance of the base parameters' errors, if those of the decimated samples are
    independent; infinite for what the record does not determine."""
    sigma: Float64[np.ndarray, " nv"]
    """Standard deviation of the torque that remains unexplained. [N m or N]"""
    iterations: int
    """Steps that the estimator took."""
    undetermined: tuple[str, ...] = ()
    """Base parameters that the record says nothing of; they stay at the prior."""

    @property
    def std(self) -> Float64[np.ndarray, " r"]:
        """Standard deviation of each base parameter."""
        return np.sqrt(np.diagonal(self.covariance))

    @property
    def relative_std(self) -> Float64[np.ndarray, " r"]:
        """Standard deviation of each base parameter, in percent of its value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.std == 0, 0, 100 * self.std / np.abs(self.base))
