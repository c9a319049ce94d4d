"""Robot identification: from a robot's file and a log to the robot's own parameters."""

from ._demo import ARM7 as ARM7
from ._excitation import ACCELERATION as ACCELERATION
from ._excitation import FourierSeries as FourierSeries
from ._excitation import fourier_trajectories as fourier_trajectories
from ._excitation import Trajectories as Trajectories
from ._excitation import UNLIMITED as UNLIMITED
from ._excitation import VELOCITY as VELOCITY
from ._holdout import hold_out as hold_out
from ._info import info as info
from ._inspect import Finding as Finding
from ._inspect import inspect as inspect
from ._log import Log as Log
from ._mount import mount as mount
from ._read_log import read_log as read_log
from ._signals import LowPass as LowPass
from ._signals import Motion as Motion
from ._signals import motion as motion
from ._write_log import write_log as write_log
