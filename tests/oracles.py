"""The same quantities from MuJoCo C and Pinocchio, and how far results are from them."""

from collections.abc import Mapping
from pathlib import Path

import mujoco
import numpy as np
import pinocchio

import jaxdyn


def difference(x, y) -> float:
    """Largest difference, relative to `y` where that is large."""
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    assert np.isfinite(x).all()
    return float(np.abs(x - y).max(initial=0) / max(1, np.abs(y).max(initial=0)))


def ill_conditioned(M) -> float:
    """By how much more than rounding a badly conditioned problem may be off."""
    return max(1.0, np.linalg.cond(M) / 1e3) if len(M) else 1.0


def worst_differences(model: jaxdyn.Model, oracle, q, qd, x) -> dict[str, float]:
    """Largest difference of each quantity, `x` being accelerations, then forces."""
    model = jaxdyn.anonymous(model)  # Robots of one structure compile once.
    M = oracle.mass_matrix(q)
    tau = jaxdyn.inverse_dynamics(model, q, qd, x)
    qdd = jaxdyn.forward_dynamics(model, q, qd, x)
    Y = jaxdyn.torque_regressor(model, q, qd, x)
    potential, kinetic = oracle.energies(q, qd)
    forward = difference(qdd, oracle.forward_dynamics(q, qd, x))
    return {
        "mass matrix": difference(jaxdyn.mass_matrix(model, q), M),
        "bias": difference(jaxdyn.bias_force(model, q, qd), oracle.bias_force(q, qd)),
        "inverse dynamics": difference(tau, oracle.inverse_dynamics(q, qd, x)),
        "forward dynamics": forward / ill_conditioned(M),
        "gravity energy": difference(jaxdyn.gravity_energy(model, q), potential),
        "kinetic energy": difference(jaxdyn.kinetic_energy(model, q, qd), kinetic),
        "regressor": difference(Y @ model.inertial.ravel() + model.armature * x, tau),
        "poses": difference(
            jaxdyn.forward_kinematics(model, q), oracle.forward_kinematics(q)
        ),
    }


class MuJoCo:
    """Rigid-body dynamics of a compiled model, nothing else acting."""

    def __init__(self, model: mujoco.MjModel):
        self.model = model
        for name in ("CONSTRAINT", "SPRING", "DAMPER", "ACTUATION", "SENSOR"):
            model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
        model.opt.density = model.opt.viscosity = 0
        for field in ("body_gravcomp", "tendon_armature", "actuator_armature"):
            getattr(model, field)[:] = 0
        self.data = mujoco.MjData(model)

    def at(self, q, qd=None, tau=None) -> mujoco.MjData:
        """All quantities at a state."""
        self.data.qpos[:] = q
        self.data.qvel[:] = 0 if qd is None else qd
        self.data.qfrc_applied[:] = 0 if tau is None else tau
        mujoco.mj_forward(self.model, self.data)
        return self.data

    def mass_matrix(self, q):
        """`M(q)`."""
        self.at(q)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return M

    def bias_force(self, q, qd):
        """Coriolis, centrifugal and gravity forces."""
        return self.at(q, qd).qfrc_bias.copy()

    def inverse_dynamics(self, q, qd, qdd):
        """Forces of a motion."""
        self.at(q, qd).qacc[:] = qdd
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse.copy()

    def forward_dynamics(self, q, qd, tau):
        """Accelerations."""
        return self.at(q, qd, tau).qacc.copy()

    def forward_kinematics(self, q):
        """Poses of all bodies but the world."""
        data = self.at(q)
        return _poses(data.xmat[1:], data.xpos[1:])

    def site_poses(self, q):
        """Poses of all sites."""
        data = self.at(q)
        return _poses(data.site_xmat, data.site_xpos)

    def jacobian(self, q, kind: str, index: int):
        """`mj_jac` of a body's or site's frame."""
        self.at(q)
        J = np.zeros((2, 3, self.model.nv))
        fn = {"body": mujoco.mj_jacBody, "site": mujoco.mj_jacSite}[kind]
        fn(self.model, self.data, J[0], J[1], index)
        return J.reshape(6, -1)

    def energies(self, q, qd):
        """Potential and kinetic energy."""
        self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        return self.at(q, qd).energy.copy()


def _poses(rotations, origins):
    T = np.tile(np.eye(4), (len(origins), 1, 1))
    T[:, :3, :3] = rotations.reshape(-1, 3, 3)
    T[:, :3, 3] = origins
    return T


class Pinocchio:
    """Rigid-body dynamics of a URDF, joints and links in the order of a model of ours."""

    def __init__(self, path: Path, model: jaxdyn.Model, locked: Mapping[str, float]):
        self.model = pinocchio.buildModelFromUrdf(str(path))
        if locked:
            q = pinocchio.neutral(self.model)
            for name, position in locked.items():
                q[self.model.joints[self.model.getJointId(name)].idx_q] = position
            ids = [self.model.getJointId(name) for name in locked]
            self.model = pinocchio.buildReducedModel(self.model, ids, q)
        self.data = self.model.createData()
        joints = (self.model.getJointId(name) for name in model.joint_names)
        self.joints = [self.model.joints[j] for j in joints]
        self.columns = [joint.idx_v for joint in self.joints]
        body = pinocchio.FrameType.BODY
        self.frames = [self.model.getFrameId(name, body) for name in model.body_names]

    def state(self, q, *rest):
        """Positions, velocities, … in its order; unit vectors for joints without end."""
        theirs = np.zeros((1 + len(rest), self.model.nv))
        theirs[1:, self.columns] = rest or 0
        theirs_q = np.zeros(self.model.nq)
        for joint, angle in zip(self.joints, q, strict=True):
            unit = np.cos(angle), np.sin(angle)
            theirs_q[joint.idx_q :][: joint.nq] = unit if joint.nq == 2 else angle
        return theirs_q, *theirs[1:]

    def mass_matrix(self, q):
        """`M(q)`."""
        M = pinocchio.crba(self.model, self.data, *self.state(q))
        return (np.triu(M) + np.triu(M, 1).T)[np.ix_(self.columns, self.columns)]

    def bias_force(self, q, qd):
        """Coriolis, centrifugal and gravity forces."""
        state = self.state(q, qd)
        return pinocchio.nonLinearEffects(self.model, self.data, *state)[self.columns]

    def inverse_dynamics(self, q, qd, qdd):
        """Forces of a motion."""
        state = self.state(q, qd, qdd)
        return pinocchio.rnea(self.model, self.data, *state)[self.columns]

    def forward_dynamics(self, q, qd, tau):
        """Accelerations."""
        state = self.state(q, qd, tau)
        return pinocchio.aba(self.model, self.data, *state)[self.columns]

    def energies(self, q, qd):
        """Potential and kinetic energy, what is fixed to the world included."""
        q, qd = self.state(q, qd)
        fixed, g = self.model.inertias[0], self.model.gravity.linear
        potential = pinocchio.computePotentialEnergy(self.model, self.data, q)
        potential -= fixed.mass * g @ fixed.lever
        return potential, pinocchio.computeKineticEnergy(self.model, self.data, q, qd)

    def forward_kinematics(self, q):
        """Poses of all links."""
        pinocchio.framesForwardKinematics(self.model, self.data, *self.state(q))
        return np.array([self.data.oMf[i].homogeneous for i in self.frames])

    def jacobian(self, q, link: int, reference: str):
        """Jacobian of a link's frame."""
        frame = getattr(pinocchio.ReferenceFrame, reference.upper())
        args = self.model, self.data, *self.state(q), self.frames[link], frame
        return pinocchio.computeFrameJacobian(*args)[:, self.columns]

    def torque_regressor(self, q, qd, qdd):
        """Ten columns for each joint: what moves with it as one, in its frame."""
        state = self.state(q, qd, qdd)
        Y = pinocchio.computeJointTorqueRegressor(self.model, self.data, *state)
        joints = [joint.id - 1 for joint in self.joints]
        return Y.reshape(self.model.nv, -1, 10)[self.columns][:, joints]
