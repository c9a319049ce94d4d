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
    assert set(exported(jaxdyn)) == {
        "INERTIAL_NAMES",
        "Inconsistency",
        "Model",
        "Report",
        "Written",
        "aba",
        "anonymous",
        "bias_force",
        "check_consistency",
        "convert_inertial",
        "crba",
        "forward_dynamics",
        "forward_kinematics",
        "frame_jacobian",
        "frame_pose",
        "gravity_energy",
        "gravity_force",
        "inertial_from_log_cholesky",
        "inertial_from_pseudo_inertia",
        "inverse_dynamics",
        "kinetic_energy",
        "load",
        "lock",
        "log_cholesky",
        "mass_matrix",
        "nearest_consistent",
        "pseudo_inertia",
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
        is_function = inspect.isfunction(inspect.unwrap(value))
        if not is_function and not inspect.isclass(value):
            continue
        doc = inspect.getdoc(value) or ""
        assert len(doc) > 20, name
        if is_function:
            named = set(inspect.signature(value).parameters) - {"options"}
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


def test_precision_is_that_of_jax_wherever_it_is_set():
    """Single unless a user asks for double, for a while or for good, and no warnings."""
    run(
        "import jax, numpy as np, jaxdyn\n"
        "from identification import ARM7\n"
        "model = jaxdyn.load(ARM7)\n"
        "assert model.inertial.dtype == np.float64\n"
        "state = np.random.default_rng(0).normal(size=(3, 7))\n"
        "fns = jaxdyn.inverse_dynamics, jaxdyn.forward_dynamics\n"
        "single = [fn(model, *state) for fn in fns]\n"
        "with jax.enable_x64(True):\n"
        "    double = [fn(model, *state) for fn in fns]\n"
        "for x, y in zip(single, double):\n"
        "    assert (x.dtype, y.dtype) == (np.float32, np.float64)\n"
        "    assert np.allclose(x, y, rtol=1e-3, atol=1e-3)\n"
        "    assert not np.allclose(x, y, rtol=1e-12, atol=1e-12)\n"
    )
