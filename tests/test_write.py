import contextlib
import copy
import dataclasses
import os
import re
import struct
import zlib
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pinocchio
import pytest

import jaxdyn


ROBOTS = Path(pinocchio.__file__).parents[4] / "share/example-robot-data/robots"


MJCF = """\
<?xml version="1.0" encoding="utf-8"?>
<!-- An arm that slides and turns at its elbow. -->
<mujoco model="arm">
  <compiler angle="degree"/>
  <option gravity="0 1 -9"/>

  <default>
    <joint damping="0.5"/>
    <default class="strong">
      <joint armature="0.1" frictionloss="0.2"/>
    </default>
  </default>

  <worldbody>
    <light pos="0 0 3"/>
    <body name="base">
      <geom size="0.1" mass="3"/>
      <body name="upper" pos="0 0 0.3">
        <inertial mass="2" pos="0 0.1 0" diaginertia="0.02 0.03 0.04"/>  <!-- weighed -->
        <joint name="shoulder" class="strong" axis="0 1 0" range="-90 90"/>
        <body name="lower" pos="0 0 0.4" euler="0 30 10">
          <joint name="lift" type="slide" axis="1 0 0" armature="0.3"/>
          <joint name="elbow" axis="0 1 1" pos="0 0 0.05"/>
          <inertial mass="1" pos="0 0 0.1"
                    fullinertia="0.01 0.011 0.012 0.001 0.002 0.003" />
          <geom name="rod" type="capsule" size="0.02" fromto="0 0 0 0 0 0.2"/>
          <body name="tool" pos="0 0 0.2">
            <!-- nothing but -->
            <geom type="box" size="0.05 0.02 0.03" pos="0.01 0 0.02"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>

  <actuator>
    <motor name="motor" joint="elbow"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0.1 0.2 0.3" ctrl="0"/>
  </keyframe>
</mujoco>
"""

URDF = """\
<?xml version='1.0'?>
<!-- Made by hand. -->
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="base">
    <visual><geometry><mesh filename="package://arm/base.stl"/></geometry></visual>
  </link>
  <link name="upper">
    <inertial>
      <mass value="2"/>  <!-- weighed -->
      <origin xyz="0 0.1 0" rpy="0.1 0.2 0.3"/>
      <inertia ixx="0.02" ixy="0" ixz="0.001" iyy="0.03" iyz="0" izz="0.04"/>
    </inertial>
  </link>
  <link name="lower"/>
  <link name="tool">
    <inertial>
      <mass value="0.5"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <joint name="mount" type="fixed">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1"/>
  </joint>
  <joint name="shoulder" type="revolute">
    <parent link="upper"/>
    <child link="lower"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/>
    <dynamics damping="0.5"/>
  </joint>
  <joint name="lift" type="prismatic">
    <origin xyz="0 0 0.3" rpy="0.1 0 0.2"/>
    <parent link="lower"/>
    <child link="tool"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="1"/>
  </joint>
  <gazebo reference="lower"><selfCollide>true</selfCollide></gazebo>
  <transmission name="t"><joint name="lift"/></transmission>
</robot>
"""

WEIGHED_URDF = URDF.replace(
    '<link name="lower"/>',
    '<link name="lower"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" '
    'iyy="1" iyz="0" izz="1"/></inertial></link>',
)


def test_mjcf_takes_new_values_and_keeps_every_other_byte(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = perturbed(jaxdyn.load(source))

    written = jaxdyn.write(model, tmp_path / "new.xml", source=source)

    assert written == jaxdyn.Written(
        result=tmp_path / "new.xml",
        copied=(),
        changed=(
            "inertial of base, upper, lower, tool",
            "armature of shoulder, lift, elbow",
            "damping of shoulder, lift, elbow",
            "frictionloss of shoulder, lift, elbow",
        ),
        not_expressed=(),
        neutralised=(),
    )
    assert_reads_back(model, written.result)
    assert rest(written.result) == rest(source)
    assert source.read_text() == MJCF


def test_urdf_takes_new_values_and_keeps_every_other_byte(tmp_path):
    source = saved(tmp_path / "arm.urdf", URDF)
    model = perturbed(jaxdyn.load(source), armature=False)

    written = jaxdyn.write(model, tmp_path / "new.urdf", source=source)

    assert_reads_back(model, written.result)
    assert rest(written.result) == rest(source)
    assert source.read_text() == URDF
    assert written.not_expressed == ()


def test_only_what_differs_is_written(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = jaxdyn.load(source)
    damping = model.damping.copy()
    damping[1] = 7.5

    written = jaxdyn.write(
        dataclasses.replace(model, damping=damping), tmp_path / "new.xml", source=source
    )

    assert written.changed == ("damping of lift",)
    assert written.result.read_text() == MJCF.replace(
        'armature="0.3"/>', 'armature="0.3" damping="7.5"/>'
    )


def test_what_is_inserted_is_on_a_line_of_its_own(tmp_path):
    source = saved(tmp_path / "arm.urdf", URDF)
    model = jaxdyn.load(source)
    inertial = model.inertial.copy()
    inertial[model.body("lower")] = [4, 0, 0, 0, 2, 0, 2, 0, 0, 2]

    written = jaxdyn.write(
        dataclasses.replace(model, inertial=inertial, frictionloss=np.array([0, 0.25])),
        tmp_path / "new.urdf",
        source=source,
    )

    lower = """  <link name="lower">
    <inertial>
      <origin xyz="0.0 0.0 0.0" rpy="0 0 0"/>
      <mass value="4.0"/>
      <inertia ixx="2.0" iyy="2.0" izz="2.0" ixy="0.0" ixz="0.0" iyz="0.0"/>
    </inertial>
  </link>
"""
    lift = """  <joint name="lift" type="prismatic">
    <dynamics friction="0.25"/>
"""
    assert written.result.read_text() == URDF.replace(
        '  <link name="lower"/>\n', lower
    ).replace('  <joint name="lift" type="prismatic">\n', lift)


@pytest.mark.parametrize(
    ("name", "text"), [("arm.xml", MJCF), ("arm.urdf", WEIGHED_URDF)]
)
def test_an_unchanged_robot_is_the_same_file(tmp_path, name, text):
    source = saved(tmp_path / name, text)
    for path in (tmp_path / f"new_{name}", tmp_path / "new folder" / name, source):
        written = jaxdyn.write(jaxdyn.load(source), path, source=source)
        assert path.read_text() == text
        assert written.changed == written.neutralised == ()


def test_the_same_model_is_written_to_the_same_bytes(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = perturbed(jaxdyn.load(source))
    first, second = (
        jaxdyn.write(model, tmp_path / name, source=source).result.read_bytes()
        for name in ("a.xml", "b.xml")
    )
    assert first == second


def test_the_source_is_overwritten_only_if_path_names_it(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = perturbed(jaxdyn.load(source))
    jaxdyn.write(model, source, source=source)
    assert_reads_back(model, source)


# MJCF in all its forms. ----------------------------------------------------------------

NAMES = re.compile(r' name="(?:base|upper|lower|tool|shoulder|lift|elbow)"')
ACTUATORS = re.compile(r" *<actuator>.*</actuator>\n", re.DOTALL)
END_OF_BASE = "      </body>\n    </body>\n  </worldbody>"

AWKWARD_MJCF = {
    "CRLF": MJCF.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + MJCF,
    "no declaration": MJCF.partition("\n")[2],
    "one line": re.sub(r">\s+<", "><", MJCF),
    "tabs": MJCF.replace("  ", "\t"),
    "no final newline": MJCF.rstrip(),
    "single quotes": MJCF.partition("?>")[2].lstrip().replace('"', "'"),
    "spread attributes": MJCF.replace(" armature=", "\n  armature\n = "),
    "elements that are none": MJCF.replace(
        "<worldbody>",
        '<worldbody><!-- <body name="upper"><inertial mass="1"/> -->'
        '<![CDATA[ <body name="lower"> ]]>',
    ),
    "comment after a start tag": MJCF.replace(
        '<body name="tool" pos="0 0 0.2">', '<body name="tool" pos="0 0 0.2"> <!-- it -->'
    ),
    "signs in names": MJCF.replace("upper", "up>per's").replace(
        "tool", "t&amp;/o&lt;&#65;"
    ),
    "letters of the world": MJCF.replace("upper", "øvre").replace("lower", "下"),
    "document type": MJCF.replace(
        "<mujoco model", "<!DOCTYPE mujoco [<!ELEMENT a (b)>]>\n<mujoco model"
    ),
    "children before joint": re.sub(r" *<joint name=.shoulder.*\n", "", MJCF).replace(
        END_OF_BASE,
        '        <joint name="shoulder" class="strong" axis="0 1 0"/>\n' + END_OF_BASE,
    ),
    "no names": NAMES.sub("", ACTUATORS.sub("", MJCF).replace(' ctrl="0"', "")),
    "frames": MJCF.replace(
        '<body name="upper"',
        '<frame euler="0 20 0"><frame pos="0 0 1"><body name="upper"',
    )
    .replace('<joint name="elbow"', '<frame euler="10 0 0"><joint name="elbow"')
    .replace('pos="0 0 0.05"/>', 'pos="0 0 0.05"/></frame>')
    .replace(END_OF_BASE, END_OF_BASE.replace("</body>", "</body></frame></frame>", 1)),
    "classes in classes": MJCF.replace(
        '<joint armature="0.1" frictionloss="0.2"/>',
        '<joint armature="0.1"/>'
        '<default class="weak"><joint frictionloss="0.4"/></default>',
    ).replace('<body name="lower"', '<body name="lower" childclass="weak"'),
    "several compilers and worlds": MJCF.replace(
        "<worldbody>",
        '<compiler autolimits="true"/><worldbody><geom size="1"/></worldbody>'
        '<compiler angle="degree"/><worldbody>',
    ),
    "inertial frames": MJCF.replace(
        'diaginertia="0.02', 'axisangle="1 2 3 40" diaginertia="0.02'
    ).replace(
        'fullinertia="0.01 0.011 0.012 0.001 0.002 0.003"',
        'euler="10 20 30" diaginertia="0.01 0.011 0.012"',
    ),
    "inertial with an end tag": MJCF.replace(
        'diaginertia="0.02 0.03 0.04"/>', 'diaginertia="0.02 0.03 0.04"></inertial>'
    ),
    "names without meaning": MJCF.replace('<body name="base">', '<body name="mesh">')
    .replace("shoulder", "include")
    .replace("lift", "joint"),
}


@pytest.mark.parametrize("text", AWKWARD_MJCF.values(), ids=AWKWARD_MJCF)
def test_awkward_mjcf(tmp_path, text):
    assert text != MJCF
    source = saved(tmp_path / "arm.xml", text)
    model = perturbed(jaxdyn.load(source))
    for folder in (tmp_path, tmp_path / "elsewhere"):
        written = jaxdyn.write(model, folder / "new.xml", source=source)
        assert_reads_back(model, written.result)
        assert rest(written.result) == rest(source)


@pytest.mark.parametrize("moments", [(0, 0.1, 0.1), (0.1, 0.3, 0.4)])
def test_rods_and_plates_are_bodies_that_mujoco_takes(tmp_path, moments):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = jaxdyn.load(source)
    R, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = R * moments @ R.T
    body = np.array([2, 0.3, -0.2, 0.1, xx, yy, zz, xy, xz, yz])
    inertial = model.inertial.copy()
    inertial[2] = jaxdyn.convert_inertial(body, "mujoco", "pinocchio")
    model = dataclasses.replace(model, inertial=inertial)
    written = jaxdyn.write(model, tmp_path / "new.xml", source=source)
    assert_reads_back(model, written.result)


def test_higher_coefficients_of_damping_stay(tmp_path):
    text = MJCF.replace('damping="0.5"', 'damping="0.5 0.1 0"').replace(
        'name="elbow"', 'name="elbow" damping="1 0 0.25"'
    )
    source = saved(tmp_path / "arm.xml", text)
    with pytest.warns(UserWarning, match="nonlinear damping"):
        model = perturbed(jaxdyn.load(source, strict=False))
    jaxdyn.write(model, tmp_path / "new.xml", source=source)
    old, new = (compiled(tmp_path / name) for name in ("arm.xml", "new.xml"))
    np.testing.assert_array_equal(new.dof_damping, model.damping)
    np.testing.assert_array_equal(new.dof_dampingpoly, old.dof_dampingpoly)
    assert old.dof_dampingpoly.any()


@pytest.mark.parametrize("tail", ["/>", " />", "></body>", ">\n          </body>"])
def test_a_body_with_nothing_in_it_is_given_an_inertial(tmp_path, tail):
    empty = f'<body name="tool" pos="0 0 0.2"{tail}'
    text = re.sub(r'<body name="tool".*?</body>', empty, MJCF, flags=re.DOTALL)
    source = saved(tmp_path / "arm.xml", text)
    model = perturbed(jaxdyn.load(source))
    written = jaxdyn.write(model, tmp_path / "new.xml", source=source)
    assert_reads_back(model, written.result)
    tool = r'\n {10}<body name="tool" pos="0 0 0.2">\n {12}<inertial [^>]*/>\s*</body>\n'
    assert re.search(tool, written.result.read_text())


@pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass' is deprecated")
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ('inertiafromgeom="true"', ['inertiafromgeom="true"']),
        ('balanceinertia="true"', ['balanceinertia="true"']),
        ('boundmass="2.5" boundinertia="1"', ['boundmass="2.5"', 'boundinertia="1"']),
        ('settotalmass="12"', ['settotalmass="12"']),
        ('inertiafromgeom="auto" balanceinertia="false" settotalmass="-1"', []),
        ('boundmass="0"', []),
    ],
)
def test_options_that_override_inertias_are_neutralised(tmp_path, options, named):
    text = MJCF.replace('angle="degree"', f'angle="degree" {options}')
    if 'balanceinertia="true"' in options:
        text = text.replace("0.02 0.03 0.04", "0.02 0.03 0.06")
    source = saved(tmp_path / "arm.xml", text)
    model = jaxdyn.load(source)
    new = perturbed(model)
    written = jaxdyn.write(new, tmp_path / "new.xml", source=source)
    assert_reads_back(new, written.result)
    assert list(written.neutralised) == named
    assert all(option in str(written) for option in named)

    # One body is enough to need it; the others then keep what they had.
    inertial = model.inertial.copy()
    inertial[2] = new.inertial[2]
    new = dataclasses.replace(model, inertial=inertial)
    written = jaxdyn.write(new, tmp_path / "one.xml", source=source)
    assert_reads_back(new, written.result)
    assert written.changed == ("inertial of lower",)

    # Armature is not overridden.
    new = dataclasses.replace(model, armature=model.armature + 1)
    written = jaxdyn.write(new, tmp_path / "armature.xml", source=source)
    assert written.neutralised == ()
    assert options in written.result.read_text()


def test_bodies_that_mujoco_makes_are_refused_and_others_are_not(tmp_path):
    text = MJCF.replace(
        '<body name="base">',
        '<replicate count="2" offset="1 0 0"><body name="twin"><joint name="turn"/>'
        '<geom size="0.1"/></body></replicate><body name="base">',
    ).replace(' qpos="0.1 0.2 0.3"', "")
    source = saved(tmp_path / "arm.xml", text)
    old = jaxdyn.load(source)
    new = perturbed(old)

    with pytest.raises(ValueError, match=r"no element for body 'twin0'.*MjSpec"):
        jaxdyn.write(new, tmp_path / "new.xml", source=source)
    assert not (tmp_path / "new.xml").exists()

    inertial, armature = old.inertial.copy(), old.armature.copy()
    inertial[2:], armature[2:] = new.inertial[2:], new.armature[2:]
    some = dataclasses.replace(old, inertial=inertial, armature=armature)
    written = jaxdyn.write(some, tmp_path / "new.xml", source=source)
    assert_reads_back(some, written.result)

    spec = mujoco.MjSpec.from_file(str(source))
    assert_reads_back(new, jaxdyn.write(new, source=spec).result)


@pytest.mark.parametrize(
    "text",
    [
        MJCF.replace("</option>", "").replace(
            '<option gravity="0 1 -9"/>',
            '<option gravity="0 1 -9"><flag damper="disable"/></option>',
        ),
        MJCF.replace(
            '<body name="base">', '<frame massscale="2"><body name="base">'
        ).replace("  </worldbody>", "</frame></worldbody>"),
    ],
    ids=["damping switched off", "scaled frame"],
)
def test_what_the_source_overrides_is_refused(tmp_path, text):
    source = saved(tmp_path / "arm.xml", text)
    model = perturbed(jaxdyn.load(source))
    with pytest.raises(ValueError, match=r"(?s)not as in the model.*Nothing was saved"):
        jaxdyn.write(model, tmp_path / "new.xml", source=source)
    assert os.listdir(tmp_path) == ["arm.xml"]


def test_an_attached_model_with_options_of_its_own_is_refused(tmp_path):
    saved(
        tmp_path / "child.xml",
        '<mujoco><compiler settotalmass="5"/><worldbody><body name="hand">'
        '<joint name="wrist"/><geom size="0.1"/></body></worldbody></mujoco>',
    )
    source = saved(
        tmp_path / "arm.xml",
        '<mujoco><asset><model name="child" file="child.xml"/></asset><worldbody>'
        '<body name="arm"><joint name="elbow"/><geom size="0.1"/>'
        '<attach model="child" body="hand" prefix="left_"/></body></worldbody></mujoco>',
    )
    old = jaxdyn.load(source)
    new = perturbed(old)
    with pytest.raises(ValueError, match="no element for body 'left_hand'"):
        jaxdyn.write(new, tmp_path / "new.xml", source=source)
    inertial = old.inertial.copy()
    inertial[0] = new.inertial[0]
    new = dataclasses.replace(old, inertial=inertial)
    written = jaxdyn.write(new, tmp_path / "elsewhere" / "new.xml", source=source)
    assert_reads_back(new, written.result)


# Files that use other files. -----------------------------------------------------------

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def png(colour: tuple[int, int, int]) -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(bytes([0, *colour]))
    chunks = chunk(b"IHDR", header), chunk(b"IDAT", pixel), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def with_includes(folder: Path) -> Path:
    """An arm in four files, one of which is not below the first."""
    head, rest_of_head = MJCF.split("  <default>\n", 1)
    default, world = rest_of_head.split("\n  </default>", 1)
    upper = re.search(r' *<body name="upper".*</body>\n(?=    </body>)', world, re.DOTALL)
    lower = re.search(
        r' *<body name="lower".*</body>\n(?=      </body>)', world, re.DOTALL
    )
    saved(
        folder / "common" / "defaults.xml",
        f"<mujoco><default>{default}</default></mujoco>",
    )
    saved(
        folder / "robot" / "parts" / "upper.xml",
        "<mujocoinclude>\n<!-- -- upper -- -->\n"
        + upper[0].replace(lower[0], '<include file="deep/lower.xml"/>')
        + "</mujocoinclude>",
    )
    saved(
        folder / "robot" / "parts" / "deep" / "lower.xml",
        f"<mujoco>\n{lower[0]}</mujoco>",
    )
    return saved(
        folder / "robot" / "arm.xml",
        head
        + '  <include file="../common/defaults.xml"/>'
        + world.replace(upper[0], '      <include file="parts/upper.xml"/>\n'),
    )


def test_included_files_are_copied_beside(tmp_path):
    source = with_includes(tmp_path)
    before = contents(tmp_path)
    model = perturbed(jaxdyn.load(source))
    new = tmp_path / "new" / "arm.xml"

    written = jaxdyn.write(model, new, source=source)

    assert_reads_back(model, new)
    copies = ["defaults.xml", "parts/deep/lower.xml", "parts/upper.xml"]
    assert sorted(written.copied) == [new.parent / file for file in copies]
    assert "copied: " in str(written)
    assert rest(new) == rest(source).replace(b"../common/", b"")
    for file in copies[1:]:
        assert rest(new.parent / file) == rest(source.parent / file)
    assert {
        name: text for name, text in contents(tmp_path).items() if name in before
    } == (before)
    jaxdyn.write(model, new, source=source)  # Once more, over the first.
    assert_reads_back(model, new)


def test_paths_may_be_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(with_includes(tmp_path).parent)
    model = perturbed(jaxdyn.load("arm.xml"))
    for path in ("../new/arm.xml", "other/../some/new.xml"):
        written = jaxdyn.write(model, path, source="arm.xml")
        assert_reads_back(model, written.result)


def test_included_files_that_would_change_are_not_overwritten(tmp_path):
    source = with_includes(tmp_path)
    before = contents(tmp_path)
    model = perturbed(jaxdyn.load(source))
    for path in (source.parent / "new.xml", source):
        with pytest.raises(
            ValueError, match=r"(?s)lower\.xml.*would have to change.*folder"
        ):
            jaxdyn.write(model, path, source=source)
    with pytest.raises(ValueError, match=r"defaults\.xml belongs to .*arm\.xml"):
        jaxdyn.write(model, tmp_path / "common" / "new.xml", source=source)
    assert contents(tmp_path) == before


def test_included_files_that_do_not_change_stay(tmp_path):
    source = with_includes(tmp_path)
    model = jaxdyn.load(source)
    inertial = model.inertial.copy()
    inertial[0] *= 2
    model = dataclasses.replace(model, inertial=inertial)
    before = contents(tmp_path)
    written = jaxdyn.write(model, source.parent / "new.xml", source=source)
    assert_reads_back(model, written.result)
    assert written.copied == ()
    after = contents(tmp_path)
    assert after.pop("robot/new.xml")
    assert after == before
    with pytest.raises(ValueError, match=r"upper\.xml belongs to"):
        jaxdyn.write(
            model, source.parent / "parts" / "upper.xml", source=source.parent / "arm.xml"
        )


def test_included_files_of_one_name_are_refused(tmp_path):
    source = with_includes(tmp_path)
    model = perturbed(jaxdyn.load(source))
    with pytest.raises(ValueError, match="two of which would be called the same"):
        jaxdyn.write(model, tmp_path / "new" / "defaults.xml", source=source)


@pytest.mark.parametrize(
    "compiler",
    [
        "",
        '<compiler meshdir="meshes" texturedir="textures"/>',
        '<compiler assetdir="assets"/>',
        '<compiler strippath="true" assetdir="assets"/>',
        '<compiler meshdir="{}/meshes" texturedir="textures"/>',
    ],
)
def test_assets_are_found_from_another_folder(tmp_path, compiler):
    compiler = compiler.format(tmp_path / "source")
    folders = re.findall(r'dir="([^"]*)"', compiler) or [""]
    home = tmp_path / "source"
    saved(home / folders[0] / "tetrahedron.obj", TETRAHEDRON)
    saved(home / folders[-1] / "texture.png", png((1, 2, 3)))
    source = saved(
        home / "arm.xml",
        f"<mujoco>{compiler}<asset><mesh file='tetrahedron.obj'/>"
        "<texture name='t' type='2d' file='texture.png'/></asset><worldbody>"
        "<body name='a'><joint name='j'/><geom type='mesh' mesh='tetrahedron'/></body>"
        "</worldbody></mujoco>",
    )
    model = perturbed(jaxdyn.load(source))
    os.symlink(saved(tmp_path / "real" / "folder" / "x", "").parent, tmp_path / "link")
    for folder in ("other", "source/below", "link"):
        path = tmp_path / folder / "new.xml"
        jaxdyn.write(model, path, source=source)
        assert_reads_back(model, path)
        assert_reads_back(model, path.resolve())


@pytest.mark.parametrize("beside_main", [True, False])
def test_assets_of_an_included_file_are_found_from_another_folder(tmp_path, beside_main):
    home = tmp_path / "source"
    saved(home / ("" if beside_main else "part") / "tetrahedron.obj", TETRAHEDRON)
    saved(home / "part" / "child.xml", MJCF)
    saved(
        home / "part" / "part.xml",
        "<mujoco><asset><mesh file='tetrahedron.obj'/>"
        "<model name='child' file='child.xml'/></asset><worldbody>"
        "<body name='a'><joint name='j'/><geom type='mesh' mesh='tetrahedron'/>"
        "<attach model='child' body='tool' prefix='my_'/></body></worldbody></mujoco>",
    )
    source = saved(home / "arm.xml", "<mujoco><include file='part/part.xml'/></mujoco>")
    old = jaxdyn.load(source)
    inertial = old.inertial.copy()
    inertial[0] *= 2
    model = dataclasses.replace(old, inertial=inertial)
    written = jaxdyn.write(model, tmp_path / "new" / "arm.xml", source=source)
    assert_reads_back(model, written.result)


def test_meshes_of_a_urdf_are_found_from_another_folder(tmp_path):
    text = WEIGHED_URDF.replace("package://arm/base.stl", "meshes/base.obj")
    source = saved(tmp_path / "source" / "arm.urdf", text)
    saved(tmp_path / "source" / "meshes" / "base.obj", TETRAHEDRON)
    model = jaxdyn.load(source)

    path = tmp_path / "new" / "arm.urdf"
    jaxdyn.write(model, path, source=source)
    assert path.read_text() == text.replace("meshes/", "../source/meshes/")

    extended = text.replace(
        "<link name", '<mujoco><compiler meshdir="meshes"/></mujoco>\n  <link name', 1
    )
    jaxdyn.write(model, path, source=saved(source, extended))
    assert path.read_text() == extended.replace(
        'meshdir="meshes"', 'meshdir="../source/meshes"'
    )
    compiled(path)


# URDF in all its forms. ----------------------------------------------------------------

AWKWARD_URDF = {
    "CRLF": URDF.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + URDF,
    "single quotes": URDF.replace('"', "'"),
    "one line": re.sub(r">\s+<", "><", URDF),
    "Latin-1": URDF.replace("'1.0'", "'1.0' encoding='iso-8859-1'")
    .replace("upper", "øvre")
    .encode("iso-8859-1"),
    "entities": URDF.replace(
        "<robot", "<!DOCTYPE robot [<!ENTITY two '2'>]>\n<robot", 1
    ).replace('mass value="2"', 'mass value="&two;"'),
    "xacro attributes": URDF.replace(
        '<link name="upper">', '<link xacro:file="a" xmlns:a="b" name="upper">'
    ),
    "a link called world": URDF.replace('"base"', '"world"'),
    "links after joints": re.sub(
        r'(?s)(  <link name="base">.*?)(  <joint name="mount".*)(?=  <gazebo)',
        r"\2\1",
        URDF,
    ),
    "mimic": URDF.replace(
        "<dynamics", '<mimic joint="lift" multiplier="2"/>\n    <dynamics'
    ),
    "everything commented": re.sub(
        r"(<(?:mass|axis|parent)[^>]*>)", r"\1<!-- <link/> -->", URDF
    ),
    "options of MuJoCo": URDF.replace(
        '<link name="base">',
        '<mujoco><compiler balanceinertia="true" boundmass="0.1" fusestatic="true"/>'
        '</mujoco><link name="base">',
    ),
}


@pytest.mark.parametrize("text", AWKWARD_URDF.values(), ids=AWKWARD_URDF)
def test_awkward_urdf(tmp_path, text):
    assert text != URDF
    source = saved(tmp_path / "arm.urdf", text)
    model = perturbed(jaxdyn.load(source), armature=False)
    for folder in (tmp_path, tmp_path / "elsewhere"):
        written = jaxdyn.write(model, folder / "new.urdf", source=source)
        assert_reads_back(model, written.result)
        if not written.neutralised:
            assert rest(written.result) == rest(source)


def test_options_of_mujoco_in_a_urdf_are_neutralised(tmp_path):
    text = AWKWARD_URDF["options of MuJoCo"]
    source = saved(tmp_path / "arm.urdf", text)
    model = perturbed(jaxdyn.load(source), armature=False)
    written = jaxdyn.write(model, tmp_path / "new.urdf", source=source)
    assert written.neutralised == ('balanceinertia="true"', 'boundmass="0.1"')
    assert 'fusestatic="true"' in written.result.read_text()


def test_what_urdf_cannot_express_is_listed(tmp_path):
    source = saved(tmp_path / "arm.urdf", URDF)
    model = perturbed(jaxdyn.load(source))
    with pytest.warns(UserWarning, match=r"armature of shoulder, lift"):
        written = jaxdyn.write(model, tmp_path / "new.urdf", source=source)
    assert written.not_expressed == ("armature of shoulder, lift",)
    assert "not expressed: armature of shoulder, lift" in str(written)
    assert_reads_back(
        dataclasses.replace(model, armature=np.zeros(2)), tmp_path / "new.urdf"
    )


@pytest.mark.parametrize(
    "field",
    ["pos", "quat", "axis", "anchor", "ref", "upper", "site_pos", "site_quat", "gravity"],
)
def test_what_is_not_written_is_listed(tmp_path, field):
    text = MJCF.replace(
        '<body name="base">', '<body name="base"><site name="mark" pos="1 2 3"/>'
    )
    source = saved(tmp_path / "arm.xml", text)
    model = jaxdyn.load(source)
    value = np.array(getattr(model, field))
    value.flat[1] = 0.123
    with pytest.warns(UserWarning, match=field):
        written = jaxdyn.write(
            dataclasses.replace(model, **{field: value}),
            tmp_path / "new.xml",
            source=source,
        )
    (listed,) = written.not_expressed
    assert listed.split()[0] == field
    assert written.result.read_text() == text


# Locked joints and other precisions. ---------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "joint"),
    [("arm.xml", MJCF, "elbow"), ("arm.xml", MJCF, "lift"), ("arm.urdf", URDF, "lift")],
)
def test_locked_joints_stay_joints(tmp_path, name, text, joint):
    source = saved(tmp_path / name, text)
    whole = jaxdyn.load(source)
    new = perturbed(
        jaxdyn.load(source, locked={joint: 0.3}), armature=name.endswith("xml")
    )
    written = jaxdyn.write(new, tmp_path / f"new_{name}", source=source)

    assert written.not_expressed == ()
    again = jaxdyn.load(written.result)
    assert again.joint_names == whole.joint_names
    j = again.joint(joint)
    for field in ("armature", "damping", "frictionloss"):
        assert getattr(again, field)[j] == getattr(whole, field)[j]
    assert_same(jaxdyn.lock(again, {joint: 0.3}), new)


def test_joints_that_are_refused_may_be_locked(tmp_path):
    text = MJCF.replace('name="lift"', 'name="lift" stiffness="3"')
    source = saved(tmp_path / "arm.xml", text)
    new = perturbed(jaxdyn.load(source, locked={"lift": 0.1}))
    written = jaxdyn.write(new, tmp_path / "new.xml", source=source)
    assert_same(jaxdyn.load(written.result, locked={"lift": 0.1}), new)


def test_single_precision_leaves_unchanged_values_as_they_are(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = jaxdyn.load(source)
    inertial = np.array(model.inertial)
    inertial[1] = perturbed(model).inertial[1]
    single = dataclasses.replace(model, inertial=inertial).astype(np.float32)
    single = jax.tree.map(jnp.asarray, single)
    written = jaxdyn.write(single, tmp_path / "new.xml", source=source)
    assert written.changed == ("inertial of upper",)
    assert written.not_expressed == ()
    again = jaxdyn.load(written.result).astype(np.float32)
    np.testing.assert_allclose(again.inertial, single.inertial, rtol=1e-7, atol=1e-12)


# What MuJoCo holds. --------------------------------------------------------------------


def test_a_specification_gives_a_new_one(tmp_path):
    spec = mujoco.MjSpec.from_string(MJCF)
    before = spec.to_xml()
    model = perturbed(jaxdyn.load(spec))
    written = jaxdyn.write(model, source=spec)
    assert isinstance(written.result, mujoco.MjSpec)
    assert_reads_back(model, written.result)
    assert spec.to_xml() == before
    assert str(written).startswith("a new MjSpec")


def test_a_specification_that_overrides_inertias_is_neutralised():
    text = MJCF.replace('angle="degree"', 'angle="degree" boundmass="2.5"')
    for options in ('inertiafromgeom="true"', 'balanceinertia="true"'):
        spec = mujoco.MjSpec.from_string(
            text.replace("boundmass", f"{options} boundmass")
        )
        model = perturbed(jaxdyn.load(spec))
        written = jaxdyn.write(model, source=spec)
        assert_reads_back(model, written.result)
        assert {option.partition("=")[0] for option in written.neutralised} == {
            "boundmass",
            options.partition("=")[0],
        }


def test_a_specification_without_names():
    spec = mujoco.MjSpec.from_string(AWKWARD_MJCF["no names"])
    model = perturbed(jaxdyn.load(spec))
    assert_reads_back(model, jaxdyn.write(model, source=spec).result)


def test_a_compiled_model_gives_a_new_one():
    source = mujoco.MjModel.from_xml_string(MJCF)
    before = arrays(source)
    model = perturbed(jaxdyn.load(source))
    written = jaxdyn.write(model, source=source)
    assert isinstance(written.result, mujoco.MjModel)
    assert_reads_back(model, written.result)
    assert arrays(source) == before

    # What MuJoCo derives from inertias is as if they had been in the file.
    spec = jaxdyn.write(model, source=mujoco.MjSpec.from_string(MJCF)).result
    expected = spec.compile()
    for field in ("body_subtreemass", "body_invweight0", "dof_M0", "dof_invweight0"):
        np.testing.assert_allclose(
            getattr(written.result, field), getattr(expected, field), rtol=1e-9
        )


def test_a_body_that_mujoco_simplified_is_refused():
    source = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="ball"><joint name="j" type="slide"/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    assert source.body_simple[1]
    model = perturbed(jaxdyn.load(source))
    with pytest.raises(ValueError, match=r"'ball'.*diagonal mass matrix.*mujoco\.MjSpec"):
        jaxdyn.write(model, source=source)


# Errors. -------------------------------------------------------------------------------


def test_inconsistent_bodies_are_refused_by_name(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = jaxdyn.load(source)
    inertial = model.inertial.copy()
    inertial[1, 0], inertial[3, 4] = -1, np.nan
    damping = model.damping.copy()
    damping[2] = -0.5
    wrong = dataclasses.replace(model, inertial=inertial, damping=damping)
    with pytest.raises(ValueError, match="no rigid body or joint") as caught:
        jaxdyn.write(wrong, tmp_path / "new.xml", source=source)
    message = str(caught.value)
    assert "upper: its mass is -1 kg" in message
    assert "tool: its inertial parameters are not finite" in message
    assert "elbow: its damping is -0.5" in message
    assert "lower" not in message
    assert os.listdir(tmp_path) == ["arm.xml"]


def test_an_inconsistent_source_is_refused_until_it_is_repaired(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF.replace("0.03 0.04", "0.03 0.4"))
    with pytest.raises(ValueError, match=r"(?s)upper: .*repair='nearest'"):
        jaxdyn.write(jaxdyn.load(source), tmp_path / "new.xml", source=source)
    repaired = jaxdyn.load(source, repair="nearest")
    written = jaxdyn.write(repaired, tmp_path / "new.xml", source=source)
    assert written.changed == ("inertial of upper",)
    assert_reads_back(repaired, written.result)


@pytest.mark.parametrize(
    ("text", "source", "path", "kind"),
    [
        (MJCF, "arm.xml", "new.urdf", "MJCF"),
        (URDF, "arm.urdf", "new.xml", "URDF"),
        (URDF, "arm.xml", "new.mjcf", "URDF"),
        (MJCF, "arm.xml", "new", "MJCF"),
        (MJCF, "arm.xml", "new.XML", "MJCF"),  # MuJoCo would not read it.
    ],
)
def test_another_format_is_refused(tmp_path, text, source, path, kind):
    source = saved(tmp_path / source, text)
    model = jaxdyn.load(source)
    with pytest.raises(ValueError, match=rf"is {kind} and is written as {kind}.*Give a"):
        jaxdyn.write(model, tmp_path / path, source=source)
    assert not (tmp_path / path).exists()


@pytest.mark.parametrize(
    ("text", "source", "path"),
    [(URDF, "arm.xml", "new.xml"), (URDF, "a.xml", "b.urdf"), (URDF, "a.URDF", "b.URDF")],
)
def test_the_format_is_that_of_the_contents(tmp_path, text, source, path):
    source = saved(tmp_path / source, text)
    model = perturbed(jaxdyn.load(source), armature=text == MJCF)
    written = jaxdyn.write(model, tmp_path / path, source=source)
    assert_reads_back(model, written.result)


def other(old: str, new: str) -> str:
    assert old in MJCF
    return MJCF.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (other("upper", "arm"), "Only in the model: upper; only in the source: arm"),
        (other('"lift"', '"rise"'), "Only in the model: lift"),
        (other('type="slide" ', ""), "not connected as there"),
        (other("<geom name", "<site name='s'/><geom name"), "only in the source: s"),
        (
            other('<body name="tool"', '</body><body name="tool"').replace(
                END_OF_BASE, END_OF_BASE[14:]
            ),
            "not connected as there",
        ),
    ],
)
def test_a_source_of_another_robot_is_refused(tmp_path, text, message):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = jaxdyn.load(source)
    saved(source, text)
    with pytest.raises(ValueError, match=message):
        jaxdyn.write(model, tmp_path / "new.xml", source=source)


def test_stacked_models_are_refused(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = jaxdyn.load(source)
    stacked = jax.tree.map(lambda *x: np.stack(x), model, model)
    with pytest.raises(ValueError, match=r"\(2, 4, 10\) came.*jax\.tree\.map"):
        jaxdyn.write(stacked, tmp_path / "new.xml", source=source)


def test_sources_that_cannot_be_read_are_named(tmp_path):
    model = jaxdyn.load(saved(tmp_path / "arm.xml", MJCF))
    with pytest.raises(FileNotFoundError, match=r"missing\.xml"):
        jaxdyn.write(model, tmp_path / "new.xml", source=tmp_path / "missing.xml")
    broken = saved(tmp_path / "broken.xml", MJCF[: len(MJCF) // 2])
    with pytest.raises(ValueError, match=r"broken\.xml"):
        jaxdyn.write(model, tmp_path / "new.xml", source=broken)
    with pytest.raises(ValueError, match=r"Give the path of the file to write"):
        jaxdyn.write(model, source=tmp_path / "arm.xml")
    with pytest.raises(ValueError, match=r"six digits.*path=None"):
        jaxdyn.write(model, tmp_path / "new.xml", source=mujoco.MjSpec.from_string(MJCF))


def test_paths_that_cannot_be_written_are_named(tmp_path):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = perturbed(jaxdyn.load(source))
    (tmp_path / "folder.xml").mkdir()
    for path in (tmp_path / "folder.xml", source / "new.xml"):
        with pytest.raises(OSError, match=re.escape(f"{path} cannot be written")):
            jaxdyn.write(model, path, source=source)
    assert sorted(os.listdir(tmp_path)) == ["arm.xml", "folder.xml"]


@pytest.mark.parametrize("failing", ["write_bytes", "replace"])
def test_a_failure_leaves_no_half_file(tmp_path, monkeypatch, failing):
    source = saved(tmp_path / "arm.xml", MJCF)
    model = perturbed(jaxdyn.load(source))
    path = saved(tmp_path / "out" / "new.xml", "precious")

    def fail(first, *args):
        if "out" in str(first):
            raise OSError(28, "No space left on device")
        return original(first, *args)

    owner = Path if failing == "write_bytes" else os
    original = getattr(owner, failing)
    monkeypatch.setattr(owner, failing, fail)
    with pytest.raises(OSError, match=r"new\.xml cannot be written \(No space left"):
        jaxdyn.write(model, path, source=source)
    assert contents(path.parent) == {"new.xml": b"precious"}
    assert source.read_text() == MJCF


# Robots of others. ---------------------------------------------------------------------


@pytest.mark.menagerie
@pytest.mark.parametrize(
    "robot",
    [
        "franka_emika_panda/panda_nohand.xml",
        "franka_fr3/fr3.xml",
        "universal_robots_ur10e/scene.xml",
        "dynamixel_2r/dynamixel_2r.xml",
        pytest.param("shadow_hand/left_hand.xml", marks=pytest.mark.slow),
        pytest.param("unitree_g1/g1.xml", marks=pytest.mark.slow),
    ],
)
def test_robots_of_the_menagerie(menagerie, tmp_path, robot):
    source = menagerie / robot
    before = source.read_bytes()
    free = "unitree_g1" in robot
    with pytest.warns(match="free joint") if free else contextlib.nullcontext():
        model = perturbed(jaxdyn.load(source, strict=not free))
    written = jaxdyn.write(model, tmp_path / "new.xml", source=source)
    assert written.not_expressed == written.neutralised == ()
    with pytest.warns(match="free joint") if free else contextlib.nullcontext():
        again = jaxdyn.load(written.result, strict=not free)
    assert_same(again, model)
    if not free:
        np.testing.assert_array_equal(again.damping, model.damping)
        assert_close(simulated(compiled(written.result)), expected(model), 1e-9)
    files = [*written.copied, written.result]
    theirs = [source.parent / file.relative_to(tmp_path) for file in written.copied]
    for file, original in zip(files, [*theirs, source], strict=True):
        paths = rb'(meshdir|assetdir|texturedir)="[^"]*"'
        assert re.sub(paths, b"", rest(file)) == re.sub(paths, b"", rest(original))
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    "robot",
    [
        "panda_description/urdf/panda.urdf",
        "ur_description/urdf/ur5_robot.urdf",
        "z1_description/urdf/z1.urdf",
        "double_pendulum_description/urdf/double_pendulum.urdf",
        pytest.param("talos_data/robots/talos_reduced.urdf", marks=pytest.mark.slow),
    ],
)
def test_urdfs_of_others(tmp_path, robot):
    source = ROBOTS / robot
    model = perturbed(jaxdyn.load(source), armature=False)
    written = jaxdyn.write(model, tmp_path / "new.urdf", source=source)
    assert_same(jaxdyn.load(written.result), model)
    assert rest(written.result) == rest(source)

    theirs = pinocchio.buildModelFromUrdf(str(written.result))
    q, qd, qdd = np.zeros(theirs.nq), np.zeros(theirs.nv), np.zeros(theirs.nv)
    at = [theirs.getJointId(name) for name in model.joint_names]
    v = [theirs.idx_vs[i] for i in at]
    state = states(model)
    qd[v], qdd[v] = state[1:]
    for i, angle in zip(at, state[0], strict=True):
        turns = theirs.nqs[i] == 2
        coordinates = [np.cos(angle), np.sin(angle)] if turns else [angle]
        q[theirs.idx_qs[i] :][: theirs.nqs[i]] = coordinates
    tau = pinocchio.rnea(theirs, theirs.createData(), q, qd, qdd)
    assert_close(tau[v], torque(model), 1e-9)
    np.testing.assert_array_equal(theirs.damping[v], model.damping)


# How files and robots are compared. ----------------------------------------------------


def saved(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def rest(path: Path) -> bytes:
    """A file without what `write` may change in it."""
    text = path.read_bytes()
    comments = lambda found: b"".join(re.findall(rb"<!--.*?-->", found[0]))
    if b"<robot" in text:
        text = re.sub(rb"(?s)\s*<inertial\b.*?</inertial>", comments, text)
        text = re.sub(rb"\s*<dynamics\b[^>]*>", b"", text)
        return re.sub(rb"(<link name=[^/>]*)(/>|>\s*</link>)", rb"\1/>", text)
    text = re.sub(rb"\s*<inertial\b[^>]*>(\s*</inertial>)?", b"", text)
    values = rb"""\s+(?:armature|damping|frictionloss)\s*=\s*(?:"[^"]*"|'[^']*')"""
    joint = rb"""<joint(?:[^'">]|"[^"]*"|'[^']*')*>"""
    start = text.find(b"<worldbody") if b"<default" in text else 0
    head, body = text[:start], text[start:]
    return head + re.sub(joint, lambda found: re.sub(values, b"", found[0]), body)


def arrays(model: mujoco.MjModel) -> dict[str, bytes]:
    return {
        name: value.tobytes()
        for name in dir(model)
        if isinstance(value := getattr(model, name), np.ndarray)
    }


def perturbed(model, *, armature=True, seed=0):
    """Other rigid bodies, and other joints."""
    rng = np.random.default_rng(seed)
    inertial = []
    for pi in model.inertial:
        J = np.asarray(jaxdyn.pseudo_inertia(jaxdyn.nearest_consistent(pi)))
        A = np.eye(4) + 0.1 * rng.normal(size=(4, 4))
        inertial.append(jaxdyn.inertial_from_pseudo_inertia(A @ J @ A.T))
    more = lambda x: x + rng.uniform(0.1, 1, x.shape)
    return dataclasses.replace(
        model,
        inertial=np.array(inertial).reshape(-1, 10),
        armature=more(model.armature) if armature else model.armature,
        damping=more(model.damping),
        frictionloss=more(model.frictionloss),
    )


def states(model) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (3, model.nv))


def torque(model) -> np.ndarray:
    nameless = jaxdyn.anonymous(model)
    return np.asarray(jaxdyn.inverse_dynamics(nameless, *states(model)))


def simulated(model: mujoco.MjModel) -> np.ndarray:
    """What MuJoCo's inverse dynamics says, damping included, dry friction not."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.qacc = np.random.default_rng(1).uniform(
        -1, 1, (3, model.nv)
    )
    mujoco.mj_inverse(model, data)
    return data.qfrc_inverse


def expected(model) -> np.ndarray:
    return torque(model) + model.damping * states(model)[1]


def compiled(path: Path) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(path))


def assert_close(actual, expected, tolerance):
    scale = max(1, np.abs(expected).max(initial=0))
    assert np.abs(actual - expected).max(initial=0) <= tolerance * scale


def assert_same(actual, expected):
    assert actual.joint_names == expected.joint_names
    assert actual.body_names == expected.body_names
    for field in ("armature", "damping", "frictionloss"):
        np.testing.assert_array_equal(getattr(actual, field), getattr(expected, field))
    np.testing.assert_allclose(actual.inertial, expected.inertial, rtol=1e-10, atol=1e-12)
    assert_close(torque(actual), torque(expected), 1e-10)


def assert_reads_back(model, result):
    """The result is the model, here and in MuJoCo."""
    assert_same(jaxdyn.load(result), model)
    if isinstance(result, Path) and b"<robot" in result.read_bytes():
        return
    match result:
        case Path():
            theirs = compiled(result)
        case mujoco.MjSpec():
            theirs = result.compile()
        case mujoco.MjModel():
            theirs = copy.copy(result)
    np.testing.assert_array_equal(theirs.dof_frictionloss, model.frictionloss)
    assert_close(simulated(theirs), expected(model), 1e-9)
