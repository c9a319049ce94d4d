"""Loading: what is read, filled in, repaired, set aside and refused."""

import warnings

import mujoco
import numpy as np
import pytest

import jaxdyn
from tests.oracles import difference
from tests.robots import inertial, joint, link, mjcf, random_tree, urdf


BODY = inertial(".5 0 0", 2, ".1 .2 .25")
HINGE = f'<body name="a"><joint name="j" axis="0 1 0"/>{BODY}'
BALL = f'<body name="ball"><joint name="round" type="ball"/>{BODY}</body>'


def leaves(model):
    return {k: v for k, v in vars(model).items() if isinstance(v, np.ndarray)}


def same(x, y):
    assert x.body_names == y.body_names
    assert x.joint_names == y.joint_names
    for name, leaf in leaves(x).items():
        np.testing.assert_array_equal(leaf, getattr(y, name), err_msg=name)


def test_all_sources_give_the_same_model(tmp_path):
    text = random_tree(3, 4)
    path = tmp_path / "robot.xml"
    path.write_text(text)
    model = jaxdyn.load(path)
    spec = mujoco.MjSpec.from_string(text)
    for source in (str(path), spec, spec.compile()):
        same(jaxdyn.load(source), model)
    assert all(leaf.dtype == np.float64 for leaf in leaves(model).values())


def test_the_callers_model_is_not_changed():
    spec = mujoco.MjSpec.from_string(random_tree(3, 4))
    compiled = spec.compile()

    def contents():
        names = (n for n in dir(compiled) if isinstance(getattr(compiled, n), np.ndarray))
        return {name: getattr(compiled, name).tobytes() for name in names}

    before, text = contents(), spec.to_xml()
    model = jaxdyn.load(compiled)
    jaxdyn.load(spec)
    model.inertial[:] = 0
    model.pos[:] = 7
    assert contents() == before
    assert spec.to_xml() == text


def test_a_specification_of_no_rigid_body_is_not_changed():
    spec = mjcf(f'<body name="a"><joint/>{inertial("0 0 0", 1, ".1 .2 .9")}</body>')
    jaxdyn.load(spec, repair="nearest")
    body = spec.body("a")
    assert (body.mass, *body.inertia) == (1, 0.1, 0.2, 0.9)
    assert not spec.compiler.boundmass


@pytest.mark.parametrize("moments", [".1 .2 .9", "0 0 0", "-1 2 2"])
@pytest.mark.parametrize("suffix", ["xml", "urdf"])
def test_impossible_inertias_load_as_they_are(tmp_path, moments, suffix):
    if suffix == "urdf":
        a = link("a", 1, ".1 .2 .3", moments)
        path = urdf(tmp_path, a, joint("base", "a", "0 1 0"))
    else:
        path = tmp_path / "robot.xml"
        body = inertial(".1 .2 .3", 1, moments)
        text = f'<body name="a"><joint/>{body}</body>'
        path.write_text(f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    model = jaxdyn.load(path)
    pi = np.asarray(model.inertial[model.body("a")])
    m, *found = jaxdyn.convert_inertial(pi, "pinocchio", "mujoco")
    given = [float(x) for x in moments.split()]
    np.testing.assert_allclose(
        [m, *found], [1, 0.1, 0.2, 0.3, *given, 0, 0, 0], atol=1e-15
    )
    assert [f.body for f in jaxdyn.check_consistency(model)] == ["a"]
    assert "a:" in model.report.inertia[0]

    mended = jaxdyn.load(path, repair="nearest")
    assert not jaxdyn.check_consistency(mended)
    assert "repaired, its parameters changed by at most" in mended.report.inertia[0]


def test_massless_moving_body_loads():
    inner = f'<body name="b" pos="1 0 0"><joint axis="0 1 0"/>{BODY}</body>'
    spec = mjcf(f'<body name="empty"><joint axis="0 0 1"/>{inner}</body>')
    model = jaxdyn.load(spec)
    assert (model.inertial[0] == 0).all()
    assert model.report.inertia[0].startswith("empty: it moves, but all")
    assert model.inertial[1, 0] == 2


def test_urdf_keeps_every_link_with_its_ten_numbers(tmp_path):
    names = ("a", "b", "c", "d")
    links = [link(n, k + 1, ".1 .2 .3", ".1 .2 .25") for k, n in enumerate(names)]
    pairs = (("base", "a"), ("a", "b"), ("b", "c"), ("b", "d"))
    kinds = ("fixed", "revolute", "fixed", "revolute")
    joints = [joint(*p, "0 0 1", type=k) for p, k in zip(pairs, kinds, strict=True)]
    model = jaxdyn.load(urdf(tmp_path, *links, *joints))
    assert set(model.body_names) == {"base", *names}
    assert [model.inertial[model.body(n), 0] for n in names] == [1, 2, 3, 4]
    assert model.joint_names == ("to_b", "to_d")


@pytest.mark.parametrize("mesh", ["missing.stl", "package://nowhere/mesh.dae"])
def test_missing_meshes_do_not_stop_a_urdf(tmp_path, mesh):
    geometry = f'<geometry><mesh filename="{mesh}"/></geometry>'
    shapes = f"<visual>{geometry}</visual><collision>{geometry}</collision></link>"
    a = link("a", 1, ".5 0 0", "1 2 2.5").replace("</link>", shapes)
    model = jaxdyn.load(urdf(tmp_path, a, joint("base", "a", "0 0 1")))
    assert model.inertial[1, 0] == 1


def test_mimic_joints_are_free_and_set_aside(tmp_path):
    follower = joint("a", "b", "0 1 0").replace(
        "</joint>", '<mimic joint="to_a"/></joint>'
    )
    links = [link(n, 1, ".5 0 0", "1 2 2.5") for n in "ab"]
    model = jaxdyn.load(urdf(tmp_path, *links, joint("base", "a", "0 1 0"), follower))
    assert model.nv == 2
    assert any("'to_b' mimics 'to_a'" in line for line in model.report.set_aside)


def test_a_urdf_in_a_namespace_is_a_urdf(tmp_path):
    links = [link(n, 1, ".5 0 0", "1 2 2.5") for n in "ab"]
    joints = joint("base", "a", "0 1 0"), joint("a", "b", None, type="fixed")
    path = urdf(tmp_path, *links, *joints)
    plain = jaxdyn.load(path)
    namespace = '<robot xmlns="http://www.ros.org/wiki/urdf"'
    path.write_text(path.read_text().replace("<robot", namespace))
    same(jaxdyn.load(path), plain)
    assert plain.nb == 3


def test_mjcf_that_mujoco_reads_although_it_is_not_quite_xml(tmp_path):
    path = tmp_path / "robot.xml"
    comment = "<!-- a -- b -->"
    path.write_text(f"<mujoco>{comment}<worldbody>{HINGE}</body></worldbody></mujoco>")
    assert jaxdyn.load(path).nv == 1


REFUSED = {
    "ball joint 'round'": mjcf(BALL),
    "free joint": mjcf(f"<body><freejoint/>{BODY}</body>"),
    "spring of joint 'j'": mjcf(HINGE.replace("axis", 'stiffness="2" axis') + "</body>"),
    "nonlinear damping of joint 'j'": mjcf(
        HINGE.replace("axis", 'damping="1 2" axis') + "</body>"
    ),
    "equality 'close'": mjcf(
        HINGE + "</body>",
        outside='<equality><joint name="close" joint1="j"/></equality>',
    ),
    "tendon 'rope'": mjcf(
        HINGE + "</body>",
        outside='<tendon><fixed name="rope" stiffness="3"><joint joint="j" coef="1"/>'
        "</fixed></tendon>",
    ),
    "fluid": mjcf(HINGE + "</body>", option='density="1.2"'),
    "gravity compensation": mjcf(HINGE.replace('"a"', '"a" gravcomp="1"') + "</body>"),
    "rotor inertia of actuator 'turn'": mjcf(
        HINGE + "</body>",
        outside='<actuator><position name="turn" joint="j" armature="1"/></actuator>',
    ),
    "plugin 'control'": mjcf(
        HINGE + "</body>",
        outside='<extension><plugin plugin="mujoco.pid"><instance name="control"/>'
        "</plugin></extension>"
        '<actuator><plugin joint="j" instance="control"/></actuator>',
    ),
    "flex 'cloth'": mjcf(
        HINGE
        + '</body><flexcomp name="cloth" type="grid" count="3 3 1" dim="2" radius=".01" '
        'spacing=".1 .1 .1"><edge equality="true"/></flexcomp>'
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_changes_the_equations_of_motion_is_refused_by_name(what):
    with pytest.raises(ValueError, match="strict=False") as refusal:
        jaxdyn.load(REFUSED[what])
    assert what in str(refusal.value)
    with pytest.warns(UserWarning, match="Left out") as warned:
        model = jaxdyn.load(REFUSED[what], strict=False)
    assert len(warned) == 1
    assert what in str(warned[0].message)
    assert any(what in line for line in model.report.ignored)


def test_refusal_lists_everything():
    spring = '<joint name="k" type="slide" stiffness="1"/>'
    with pytest.raises(ValueError, match=r"(?s)ball joint 'round'.*spring of joint 'k'"):
        jaxdyn.load(mjcf(f"{BALL}<body>{spring}{BODY}</body>"))


def test_what_concerns_locked_joints_alone_does_not_matter():
    spring = mjcf(HINGE.replace("axis", 'stiffness="2" axis') + "</body>")
    model = jaxdyn.load(spring, locked={"j": 0.4})
    assert model.nv == 0


def test_springs_that_are_switched_off_are_none():
    text = HINGE.replace("axis", 'stiffness="2" axis') + "</body>"
    jaxdyn.load(mjcf(f"{text}", option='><flag spring="disable"/></option><option'))


def test_equalities_that_are_off_are_set_aside():
    fixed = '<equality><joint joint1="j" active="false"/></equality>'
    model = jaxdyn.load(mjcf(f"{HINGE}</body>", outside=fixed))
    assert "1 equalities that are off" in model.report.set_aside


def test_what_does_not_enter_is_set_aside():
    hinge = HINGE.replace("axis", 'range="-1 1" frictionloss="2" axis')
    spec = mjcf(
        f'{hinge}<geom size=".1"/></body>',
        outside='<actuator><motor joint="j"/></actuator>'
        '<sensor><jointpos joint="j"/></sensor>',
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = jaxdyn.load(spec)
    text = "\n".join(model.report.set_aside)
    for word in ("collide", "limits", "dry friction", "actuators", "sensors"):
        assert word in text
    assert model.frictionloss[0] == 2


def test_gravity_that_is_switched_off_is_none():
    model = jaxdyn.load(
        mjcf(f"{HINGE}</body>", option='><flag gravity="disable"/></option><option')
    )
    assert (model.gravity == 0).all()


def test_things_without_a_name_get_one():
    names = jaxdyn.load(mjcf(f"<body><joint/>{BODY}<site/></body>"))
    assert (names.body_names, names.joint_names, names.site_names) == (
        ("body1",),
        ("joint0",),
        ("site0",),
    )
    clash = mjcf(f'<body><joint/>{BODY}<body name="body1"><joint/>{BODY}</body></body>')
    assert len(set(jaxdyn.load(clash).body_names)) == 2


def test_bad_files_are_refused_with_a_reason(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"nowhere.xml.*MJCF or URDF file is wanted"
    ):
        jaxdyn.load(tmp_path / "nowhere.xml")
    with pytest.raises(FileNotFoundError, match="There is no robot file"):
        jaxdyn.load(tmp_path)
    for text, reason in {
        "hello": "not an XML file",
        "<mujoco><worldbody><bdy/></worldbody></mujoco>": "MuJoCo cannot read",
        "<html/>": "MuJoCo cannot read",
        '<mujoco><asset><mesh name="m" file="no.stl"/></asset><worldbody><body><joint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>': "no.stl",
        '<robot name="x"><xacro/></robot>': "xacro",
    }.items():
        path = tmp_path / "bad.xml"
        path.write_text(text)
        with pytest.raises(ValueError, match=reason):
            jaxdyn.load(path)


def test_other_sources_and_repairs_are_refused(unchecked):
    with pytest.raises(TypeError, match=r"MjModel, but a int came"):
        jaxdyn.load(7)
    with pytest.raises(ValueError, match="'nearest', but 'best' came"):
        jaxdyn.load(mjcf(f"{HINGE}</body>"), repair="best")


@pytest.mark.data
@pytest.mark.parametrize("robot", ["tiago_arm/tiago.urdf", "staubli_tx40/tx40.urdf"])
def test_robots_of_recorded_logs_load(data, robot):
    model = jaxdyn.load(data / robot)
    assert model.nv > 5
    assert len(model.report.inertia) == len(jaxdyn.check_consistency(model)) > 0


@pytest.mark.parametrize("seed", [28, pytest.param(34, marks=pytest.mark.slow)])
def test_locked_joints_are_welded_where_they_stand(seed):
    model = jaxdyn.load(mujoco.MjSpec.from_string(random_tree(seed, 6)))
    q = np.random.default_rng(seed).normal(size=6)
    held, free = [1, 2, 4], [0, 3, 5]
    locked = jaxdyn.lock(model, {model.joint_names[j]: q[j] for j in held})
    assert locked.joint_names == tuple(model.joint_names[j] for j in free)
    poses = jaxdyn.forward_kinematics(model, q)
    assert difference(jaxdyn.forward_kinematics(locked, q[free]), poses) < 1e-13
    M = np.asarray(jaxdyn.mass_matrix(model, q))[np.ix_(free, free)]
    assert difference(jaxdyn.mass_matrix(locked, q[free]), M) < 1e-12
    qd = np.zeros(6)
    qd[free] = 1
    bias = np.asarray(jaxdyn.bias_force(model, q, qd))[free]
    assert difference(jaxdyn.bias_force(locked, q[free], qd[free]), bias) < 1e-12


def test_locking_what_is_not_there_or_nowhere_is_refused():
    model = jaxdyn.load(mjcf(f"{HINGE}</body>"))
    with pytest.raises(KeyError, match=r"no joint 'jj'.*Did you mean 'j'"):
        jaxdyn.lock(model, {"jj": 0.0})
    with pytest.raises(ValueError, match="finite position, but nan"):
        jaxdyn.lock(model, {"j": float("nan")})
    assert jaxdyn.lock(model, {"j": 0.2}).nv == 0


def test_other_gravity():
    model = jaxdyn.load(mjcf(f"{HINGE}</body>"))
    weightless = model.with_gravity(np.zeros(3))
    assert jaxdyn.gravity_force(weightless, np.zeros(1))[0] == 0
    assert model.gravity[2] == -9.81


def test_gravity_that_is_no_vector_is_refused(unchecked):
    model = jaxdyn.load(mjcf(f"{HINGE}</body>"))
    with pytest.raises(ValueError, match=r"three numbers, but its shape is \(2,\)"):
        model.with_gravity([0.0, 0.0])
