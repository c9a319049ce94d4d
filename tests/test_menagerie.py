"""Robots of the MuJoCo Menagerie, against MuJoCo C and MJX."""

import jax
import mujoco
import numpy as np
import pytest

import jaxdyn
from tests.oracles import difference, MuJoCo, worst_differences
from tests.robots import states


ROBOTS = (
    "aloha/aloha.xml",
    "apptronik_apollo/apptronik_apollo.xml",
    "booster_t1/t1.xml",
    "dynamixel_2r/dynamixel_2r.xml",
    "franka_emika_panda/panda.xml",
    "franka_emika_panda/panda_nohand.xml",
    "franka_fr3/fr3.xml",
    "kuka_iiwa_14/iiwa14.xml",
    "robotstudio_so101/so101.xml",
    "shadow_hand/left_hand.xml",
    "shadow_hand/right_hand.xml",
    "trossen_vx300s/vx300s.xml",
    "trossen_wx250s/wx250s.xml",
    "trs_so_arm100/so_arm100.xml",
    "ufactory_xarm7/xarm7.xml",
    "ufactory_xarm7/xarm7_nohand.xml",
    "unitree_g1/g1.xml",
    "unitree_go2/go2.xml",
    "unitree_z1/z1.xml",
    "unitree_z1/z1_gripper.xml",
    "universal_robots_ur10e/ur10e.xml",
    "universal_robots_ur5e/ur5e.xml",
    "wonik_allegro/left_hand.xml",
    "wonik_allegro/right_hand.xml",
)
WHOLE = ("panda_nohand", "fr3", "ur10e", "so101", "iiwa14", "right_hand")
"""Some that load as they are."""


def tree_of(path) -> mujoco.MjSpec:
    """The robot's hinges and slides alone; free bases welded, loops opened."""
    spec = mujoco.MjSpec.from_file(str(path))
    for found in [*spec.equalities, *spec.keys]:
        spec.delete(found)
    kinds = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    for joint in [j for j in spec.joints if j.type not in kinds]:
        spec.delete(joint)
    for passive in [*spec.joints, *spec.tendons]:
        passive.stiffness = np.zeros_like(passive.stiffness)
    for tendon in spec.tendons:
        tendon.damping = np.zeros_like(tendon.damping)
        tendon.armature = 0
    return spec


@pytest.mark.menagerie
@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics_and_kinematics_are_those_of_mujoco(menagerie, name):
    spec = tree_of(menagerie / name)
    model, oracle = jaxdyn.load(spec), MuJoCo(spec.compile())
    for state in states(model, 2):
        assert max(worst_differences(model, oracle, *state).values()) < 1e-11
        poses = oracle.forward_kinematics(state[0])
        assert difference(jaxdyn.forward_kinematics(model, state[0]), poses) < 1e-11
    last = model.body_names[-1]
    J = jaxdyn.frame_jacobian(model, state[0], last, reference="local_world_aligned")
    assert difference(J, oracle.jacobian(state[0], "body", model.nb)) < 1e-11


@pytest.mark.menagerie
def test_robots_of_hinges_and_slides_load_as_they_are(menagerie):
    names = {path.rpartition("/")[2][:-4]: path for path in ROBOTS}
    for name in WHOLE:
        path = menagerie / names[name]
        model, compiled = jaxdyn.load(path), mujoco.MjModel.from_xml_path(str(path))
        assert model.nv == compiled.nv
        assert difference(model.inertial[:, 0], compiled.body_mass[1:]) == 0
        assert not jaxdyn.check_consistency(model)


@pytest.mark.menagerie
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["franka_emika_panda/panda_nohand.xml", "unitree_z1/z1.xml"]
)
def test_dynamics_are_those_of_mjx(menagerie, name, capsys):
    mjx = pytest.importorskip("mujoco.mjx")
    spec = tree_of(menagerie / name)
    model, compiled = jaxdyn.load(spec), MuJoCo(spec.compile()).model
    q, qd, x = states(model, 1)[0]
    mjx_model = mjx.put_model(compiled)
    data = mjx.make_data(mjx_model).replace(qpos=q, qvel=qd)

    @jax.jit
    def dynamics(data):
        inverse = mjx.inverse(mjx_model, data.replace(qacc=x)).qfrc_inverse
        forward = mjx.forward(mjx_model, data.replace(qfrc_applied=x))
        return inverse, forward.qacc, mjx.full_m(mjx_model, forward)

    inverse, forward, M = dynamics(data)
    condition = max(1, np.linalg.cond(M) / 1e3)
    assert difference(jaxdyn.inverse_dynamics(model, q, qd, x), inverse) < 1e-11
    found = jaxdyn.forward_dynamics(model, q, qd, x)
    assert difference(found, forward) < 1e-11 * condition
    assert difference(jaxdyn.mass_matrix(model, q), M) < 1e-11
