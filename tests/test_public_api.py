"""What the packages export, and that importing them does nothing else."""

import inspect
import subprocess
import sys

import pytest

import identification
import jaxdyn


def exported(package) -> dict[str, object]:
    return {
        name: value
        for name, value in vars(package).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }


def test_names_of_jaxdyn():
    functions = {name for name, x in exported(jaxdyn).items() if callable(x)}
    assert functions >= {
        "Model",
        "aba",
        "anonymous",
        "bias_force",
        "check_consistency",
        "crba",
        "forward_dynamics",
        "forward_kinematics",
        "frame_jacobian",
        "frame_pose",
        "gravity_energy",
        "gravity_force",
        "inverse_dynamics",
        "kinetic_energy",
        "load",
        "lock",
        "mass_matrix",
        "rnea",
        "torque_regressor",
        "write",
    }
    assert jaxdyn.rnea is jaxdyn.inverse_dynamics
    assert jaxdyn.crba is jaxdyn.mass_matrix
    assert jaxdyn.aba is jaxdyn.forward_dynamics


@pytest.mark.parametrize("package", [jaxdyn, identification])
def test_public_functions_say_what_they_do(package):
    for name, value in exported(package).items():
        if not (inspect.isfunction(value) or inspect.isclass(value)):
            continue
        doc = inspect.getdoc(value) or ""
        assert len(doc) > 20, name
        if inspect.isfunction(value):
            named = set(inspect.signature(value).parameters) - {"options", "model"}
            lacks = [p for p in named if f"{p}:" not in doc.replace("*", "")]
            assert not lacks, f"{name} does not say what {lacks} is"


def run(code: str) -> str:
    """What a new Python prints."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    return result.stdout


def test_importing_changes_nothing_and_starts_nothing():
    assert not run(
        "import jax; before = dict(jax.config.values)\n"
        "import jaxdyn, identification\n"
        "assert dict(jax.config.values) == before\n"
        "from jax._src import xla_bridge\n"
        "assert not xla_bridge.backends_are_initialized()\n"
        "import sys\n"
        "assert not {'matplotlib', 'jinja2', 'pinocchio'} & set(sys.modules)\n"
    )


def test_single_precision_is_what_a_user_gets_who_does_not_ask():
    printed = run(
        "import numpy as np, jaxdyn\n"
        "from identification import ARM7\n"
        "model = jaxdyn.load(ARM7)\n"
        "assert model.inertial.dtype == np.float64\n"
        "print(jaxdyn.mass_matrix(model, np.zeros(7)).dtype)\n"
    )
    assert printed.strip() == "float32"
