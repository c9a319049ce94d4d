"""Robots of the MuJoCo Menagerie, against MuJoCo C and MJX."""

import jax
import mujoco
import pytest

import jaxdyn
from tests.oracles import difference, ill_conditioned, MuJoCo, worst_differences
from tests.robots import states


pytestmark = pytest.mark.menagerie

WHOLE = (
    "dynamixel_2r/dynamixel_2r.xml",
    "franka_emika_panda/panda_nohand.xml",
    "franka_fr3/fr3.xml",
    "kuka_iiwa_14/iiwa14.xml",
    "robotstudio_so101/so101.xml",
    "shadow_hand/left_hand.xml",
    "shadow_hand/right_hand.xml",
    "trs_so_arm100/so_arm100.xml",
    "ufactory_xarm7/xarm7_nohand.xml",
    "unitree_z1/z1.xml",
    "unitree_z1/z1_gripper.xml",
    "universal_robots_ur10e/ur10e.xml",
    "universal_robots_ur5e/ur5e.xml",
    "wonik_allegro/left_hand.xml",
    "wonik_allegro/right_hand.xml",
)
"""Robots that are trees of hinges and slides."""

IN_PART = (
    "agility_cassie/cassie.xml",
    "aloha/aloha.xml",
    "apptronik_apollo/apptronik_apollo.xml",
    "booster_t1/t1.xml",
    "franka_emika_panda/panda.xml",
    "skydio_x2/x2.xml",
    "trossen_vx300s/vx300s.xml",
    "trossen_wx250s/wx250s.xml",
    "ufactory_xarm7/xarm7.xml",
    "unitree_g1/g1.xml",
    "unitree_g1/g1_with_hands.xml",
    "unitree_go2/go2.xml",
)
"""Robots of which something must be left out: a free base, equalities, springs, fluid."""

QUICK = ("dynamixel_2r/dynamixel_2r.xml", "skydio_x2/x2.xml")


def tree_of(path) -> mujoco.MjModel:
    """The robot with its free and ball joints welded."""
    spec = mujoco.MjSpec.from_file(str(path))
    for element in (*spec.keys, *spec.equalities):
        spec.delete(element)
    represented = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    for joint in [j for j in spec.joints if j.type not in represented]:
        spec.delete(joint)
    return spec.compile()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in WHOLE + IN_PART
    ],
)
def test_dynamics_and_kinematics_are_those_of_mujoco(menagerie, name):
    path = menagerie / name
    if name in WHOLE:
        model = jaxdyn.load(path)
        assert not model.report.ignored
    else:
        with pytest.raises(ValueError, match="change its equations of motion"):
            jaxdyn.load(path)
        with pytest.warns(UserWarning, match="Left out of the equations of motion"):
            model = jaxdyn.load(path, strict=False)
    assert not jaxdyn.check_consistency(model)

    oracle = MuJoCo(tree_of(path))
    assert model.nv == oracle.model.nv
    for state in states(model, 3):
        for quantity, error in worst_differences(model, oracle, *state).items():
            assert error < (1e-12 if quantity == "regressor" else 1e-11), quantity

    q, numbered = states(model, 1)[0, 0], jaxdyn.anonymous(model)
    frames = [("body", model.nb - 1), ("site", len(model.site_names) - 1)]
    for kind, i in frames[: 1 if not model.site_names else 2]:
        frame = f"{kind}{i}"
        J = jaxdyn.frame_jacobian(numbered, q, frame, reference="local_world_aligned")
        assert difference(J, oracle.jacobian(q, kind, i + (kind == "body"))) < 1e-11
    if model.site_names:
        pose = jaxdyn.frame_pose(numbered, q, frame)
        assert difference(pose, oracle.site_poses(q)[-1]) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "dynamixel_2r/dynamixel_2r.xml",
        "franka_emika_panda/panda_nohand.xml",
        "unitree_z1/z1.xml",
    ],
)
@pytest.mark.filterwarnings("ignore:Mesh .* has a coplanar face")  # for collisions
def test_dynamics_are_those_of_mjx(menagerie, name):
    from mujoco import mjx

    model = jaxdyn.load(menagerie / name)
    compiled = MuJoCo(tree_of(menagerie / name)).model
    compiled.geom_contype[:] = compiled.geom_conaffinity[:] = 0
    mjx_model = mjx.put_model(compiled)
    q, qd, x = states(model, 1)[0]
    data = mjx.make_data(mjx_model).replace(qpos=q, qvel=qd)

    @jax.jit
    def dynamics(data):
        inverse = mjx.inverse(mjx_model, data.replace(qacc=x)).qfrc_inverse
        forward = mjx.forward(mjx_model, data.replace(qfrc_applied=x))
        return inverse, forward.qacc, mjx.full_m(mjx_model, forward)

    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        inverse, forward, M = dynamics(data)
    assert difference(jaxdyn.mass_matrix(model, q), M) < 1e-11
    assert difference(jaxdyn.inverse_dynamics(model, q, qd, x), inverse) < 1e-11
    error = difference(jaxdyn.forward_dynamics(model, q, qd, x), forward)
    assert error < 1e-11 * ill_conditioned(M)
