import numpy as np
import pytest
from scipy import integrate

from identification._log import Log
from identification._signals import LowPass, Motion, motion


CUTOFF = 5.0
RATES = [CUTOFF * ratio for ratio in (4, 4.1, 4.7, 5, 6, 8, 12, 20, 200)]


def tone(t, frequency, order=0):
    """A sine of unit amplitude, or a derivative of it."""
    w = 2 * np.pi * frequency
    return w**order * np.sin(w * t + order * np.pi / 2 + 0.3)


def times(rate, seconds=8.0):
    return np.arange(int(seconds * rate)) / rate


def log_of(t, q, **measured):
    columns = {name: x[:, None] for name, x in measured.items()}
    return Log(t, q[:, None], np.zeros((len(t), 1)), **columns)


def inner(moved: Motion, x):
    """Samples that do not depend on how the ends of the record are extended."""
    trim = LowPass(CUTOFF, moved.rate).trim
    return x[trim:-trim]


def difference(actual, expected):
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


def response(filtered, x):
    """Gain of a filter, and what is left of its output beside the scaled input."""
    gain = filtered @ x / (x @ x)
    return gain, np.linalg.norm(filtered - gain * x) / np.linalg.norm(x)


# Derivatives


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("frequency", [CUTOFF, CUTOFF / 2, CUTOFF / 10])
def test_derivatives_are_true_up_to_the_cutoff(rate, frequency):
    t = times(rate)
    moved = motion(log_of(t, tone(t, frequency)), cutoff=CUTOFF)
    for order, x in enumerate([moved.q, moved.qd, moved.qdd]):
        true = tone(moved.t, frequency, order)
        assert difference(inner(moved, x[:, 0]), inner(moved, true)) < 0.01


@pytest.mark.parametrize("rate", RATES)
def test_measured_velocities_and_accelerations_are_used(rate):
    t = times(rate)
    measured = {"q": 0 * t, "qd": tone(t, CUTOFF, 1)}
    moved = motion(log_of(t, **measured), cutoff=CUTOFF)
    for order, x in [(1, moved.qd), (2, moved.qdd)]:
        true = tone(moved.t, CUTOFF, order)
        assert difference(inner(moved, x[:, 0]), inner(moved, true)) < 0.01
    moved = motion(log_of(t, **measured, qdd=3 * tone(t, 1.0)), cutoff=CUTOFF)
    true = 3 * tone(moved.t, 1.0)
    assert difference(inner(moved, moved.qdd[:, 0]), inner(moved, true)) < 0.01


def test_constant_acceleration_is_exact():
    t = times(400.0)
    moved = motion(log_of(t, 1 + 2 * t + 1.5 * t**2), cutoff=CUTOFF)
    np.testing.assert_allclose(inner(moved, moved.qdd), 3.0, rtol=1e-7)
    true = 2 + 3 * inner(moved, moved.t[:, None])
    np.testing.assert_allclose(inner(moved, moved.qd), true, rtol=1e-10)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_noise_above_three_times_the_cutoff_is_not_differentiated(order):
    t = times(1000.0)
    noise = tone(t, 3.2 * CUTOFF)
    moved = motion(log_of(t, noise), cutoff=CUTOFF)
    x = [moved.q, moved.qd, moved.qdd][order][:, 0]
    amplified = np.linalg.norm(tone(moved.t, 3.2 * CUTOFF, order))
    assert np.linalg.norm(inner(moved, x)) < 0.01 * amplified


# Stamps


def test_even_stamps_leave_torques_untouched():
    t = 7.0 + times(200.0)
    log = Log(t, tone(t, 1.0)[:, None], np.random.default_rng(0).normal(size=(1600, 1)))
    moved = motion(log, cutoff=CUTOFF)
    np.testing.assert_array_equal(moved.tau, log.tau)
    assert moved.rate == pytest.approx(200.0, rel=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_jittered_stamps_are_resampled_on_the_measured_times(order):
    rng = np.random.default_rng(0)
    t = np.cumsum(0.005 * rng.uniform(0.4, 1.6, size=3000))
    log = Log(t, tone(t, CUTOFF)[:, None], tone(t, 1.0)[:, None])
    moved = motion(log, cutoff=CUTOFF)
    steps = np.diff(moved.t)
    np.testing.assert_allclose(steps, 1 / moved.rate, rtol=1e-9)
    x = [moved.q, moved.qd, moved.qdd][order][:, 0]
    true = tone(moved.t, CUTOFF, order)
    assert difference(inner(moved, x), inner(moved, true)) < 0.01
    assert difference(moved.tau[:, 0], tone(moved.t, 1.0)) < 1e-3


def test_stamps_in_bursts_do_not_blow_up_noise():
    rng = np.random.default_rng(0)
    t = np.cumsum(0.005 * rng.uniform(0.9, 1.1, size=1600))
    t = np.sort(np.concatenate([t, t[::7] + 1e-7]))
    tau = tone(t, 1.0) + 1e-4 * rng.normal(size=len(t))
    moved = motion(Log(t, tone(t, 1.0)[:, None], tau[:, None]), cutoff=CUTOFF)
    assert difference(moved.tau[:, 0], tone(moved.t, 1.0)) < 2e-4


def test_gap_is_named():
    t = times(100.0)
    t[300:] += 0.4
    log = log_of(t, tone(t, 1.0))
    with pytest.raises(ValueError, match=r"no sample for 0\.41 s after t = 2\.99 s"):
        motion(log, cutoff=CUTOFF)
    with pytest.raises(ValueError, match=r"`log\[:300\]` and `log\[300:\]`"):
        motion(log, cutoff=CUTOFF)
    for part in (log[:300], log[300:]):
        assert motion(part, cutoff=CUTOFF).rate == pytest.approx(100.0)
    assert motion(log, cutoff=1.2).rate == pytest.approx(100.0)


def test_cutoff_too_high_names_the_highest():
    t = times(100.0)
    log = log_of(t, tone(t, 1.0))
    with pytest.raises(ValueError, match="at most 25 Hz"):
        motion(log, cutoff=26.0)
    assert motion(log, cutoff=25.0).rate == pytest.approx(100.0)
    with pytest.raises(ValueError, match="positive frequency"):
        motion(log, cutoff=0.0)


def test_log_too_short_names_the_time_needed():
    t = times(1000.0, seconds=0.8)
    with pytest.raises(ValueError, match=r"lasts 0\.799 s, .* more than 0\.9"):
        motion(log_of(t, tone(t, 1.0)), cutoff=CUTOFF)


# Low-pass


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    ("frequency", "low", "high"),
    [
        (CUTOFF / 10, 0.98, 1.02),
        (CUTOFF / 2, 0.98, 1.02),
        (CUTOFF, 0.475, 0.525),
        (CUTOFF * 1.6, -0.01, 0.01),
    ],
)
def test_lowpass_acts_at_its_cutoff_without_delay(rate, frequency, low, high):
    x = tone(times(rate), frequency)
    lowpass = LowPass(CUTOFF, rate)
    inside = slice(lowpass.margin, -lowpass.margin)
    gain, rest = response(lowpass.apply(x)[inside], x[inside])
    assert low < gain < high
    assert rest < 0.01


def test_declared_20_hz_acts_as_20_hz():
    """A filter whose cut-off is normalised wrongly passes 4 Hz and stops 10 Hz."""
    lowpass = LowPass(20.0, 500.0)
    for frequency, expected in [(4.0, 1), (6.0, 1), (10.0, 1), (20.0, 0.5), (40.0, 0)]:
        x = tone(times(500.0), frequency)
        inside = slice(lowpass.margin, -lowpass.margin)
        gain, _ = response(lowpass.apply(x)[inside], x[inside])
        assert gain == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("rate", [20.0, 47.0, 1000.0])
def test_blocks_give_what_the_whole_record_gives(rate):
    x = np.random.default_rng(0).normal(size=(int(30 * rate), 3, 2))
    lowpass = LowPass(CUTOFF, rate)
    whole, margin, step = lowpass.apply(x), lowpass.margin, lowpass.decimate
    kept = whole[margin:-margin:step]
    np.testing.assert_allclose(lowpass.reduce(x), kept, rtol=0, atol=1e-12)
    size = 20 * step
    blocks = [
        lowpass.reduce(x[start : start + size + 2 * margin])
        for start in range(0, len(x) - 2 * margin, size)
    ]
    np.testing.assert_allclose(np.concatenate(blocks), kept, rtol=0, atol=1e-12)


def test_reducing_a_block_without_an_inside_gives_nothing():
    lowpass = LowPass(CUTOFF, 100.0)
    assert lowpass.reduce(np.ones((2 * lowpass.margin, 2))).shape == (0, 2)
    assert lowpass.reduce(np.ones((2 * lowpass.margin + 1, 2))).shape == (1, 2)


@pytest.mark.parametrize("rate", [20.0, 47.0, 250.0, 1000.0, 5000.0])
def test_kept_samples_still_sample_the_pass_band(rate):
    lowpass = LowPass(CUTOFF, rate)
    assert rate / lowpass.decimate >= 2.5 * CUTOFF
    assert rate / (lowpass.decimate + 1) < 2.5 * CUTOFF


@pytest.mark.parametrize("rate", [20.0, 47.0, 1000.0])
def test_trim_is_where_the_ends_stop_to_matter(rate):
    t = times(rate, seconds=12.0)
    q = np.cumsum(np.random.default_rng(0).normal(size=len(t))) / rate
    log = log_of(t, q)
    cut = slice(len(t) // 4, 3 * len(t) // 4)
    lowpass = LowPass(CUTOFF, rate)
    whole = lowpass.apply(motion(log, cutoff=CUTOFF).qdd)[cut]
    part = lowpass.apply(motion(log[cut], cutoff=CUTOFF).qdd)
    error = np.abs(part - whole)[:, 0] / np.abs(whole).max()
    trim = lowpass.trim
    assert error[trim:-trim].max() < 1e-9
    assert error[: trim - 1].max() > 1e-9
    assert error[1 - trim :].max() > 1e-9


# Real logs


@pytest.mark.data
def test_panda_velocities_are_the_derivatives_of_its_positions(data):
    with np.load(data / "panda_gaz2019" / "exciting_traj_1_first12.6s.npz") as file:
        t, q, qd, tau = (file[name] for name in ("t", "q", "dq", "tau"))
    derived = motion(Log(t, q, tau), cutoff=CUTOFF)
    measured = motion(Log(t, q, tau, qd), cutoff=CUTOFF)
    lowpass = LowPass(CUTOFF, derived.rate)
    for x, y in [(derived.qd, measured.qd), (derived.qdd, measured.qdd)]:
        x, y = (inner(derived, lowpass.apply(z)) for z in (x, y))
        assert difference(x, y) < 0.03
    assert 990 < derived.rate < 1020


@pytest.mark.data
def test_positions_at_5_khz_give_smooth_velocities_and_accelerations(data):
    with np.load(data / "staubli_tx40" / "tx40_exciting.npz") as file:
        log = Log(file["t"], file["q"], file["tau"])
    moved = motion(log, cutoff=CUTOFF)
    t, q, qd, qdd = (inner(moved, x) for x in (moved.t, moved.q, moved.qd, moved.qdd))
    for x, rate in [(q, qd), (qd, qdd)]:
        integral = integrate.cumulative_trapezoid(rate, t, axis=0, initial=0)
        np.testing.assert_allclose(x, x[0] + integral, rtol=0, atol=1e-4)
    raw = np.diff(log.q, 2, axis=0) / np.median(np.diff(log.t)) ** 2
    assert np.abs(qdd).max() < 0.01 * np.abs(raw).max()
